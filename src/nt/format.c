/* SPDX-License-Identifier: MIT */
/*
 * format.c - see format.h. The format is read one unit at a time, so one engine serves both
 * widths; output goes through format_put(), the only place that knows which one it is.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/utf8.h"

#include <ddk/ntdef.h>

#include "nt/format.h"
#include "nt/unicode.h"

struct format {
	/* Where the format is read from; one of the two. */
	const char *narrow;
	const uint16_t *wide;

	/* Where the text goes, and how much was wanted. */
	void *buffer;
	size_t limit; /* units */
	size_t length;
	size_t written;
	bool is_full; /* a character did not fit: nothing after it is written */

	va_list arguments;
};

enum format_size { SIZE_NONE, SIZE_CHAR, SIZE_SHORT, SIZE_LONG, SIZE_WIDE, SIZE_64 };

struct format_spec {
	bool left;
	bool plus;
	bool space;
	bool alternate;
	bool zero;
	int width;
	int precision; /* -1: none given */
	enum format_size size;
};

static uint16_t format_peek(const struct format *f, size_t ahead)
{
	return f->narrow ? (uint8_t)f->narrow[ahead] : f->wide[ahead];
}

static void format_skip(struct format *f, size_t count)
{
	if (f->narrow)
		f->narrow += count;
	else
		f->wide += count;
}

static void format_put(struct format *f, uint32_t character)
{
	char byte[4];
	uint16_t unit[2];
	size_t count = f->narrow ? utf8_encode(character, byte) : nt_utf16_encode(character, unit);

	f->is_full = f->is_full || f->length + count > f->limit;
	if (!f->is_full && f->narrow)
		memcpy((char *)f->buffer + f->length, byte, count);
	else if (!f->is_full)
		memcpy((uint16_t *)f->buffer + f->length, unit, count * sizeof(unit[0]));
	f->length += count;
	if (!f->is_full)
		f->written = f->length;
}

/* A unit of the output's own kind, unchanged: text that is not valid stays as the driver wrote it.
 */
static void format_put_unit(struct format *f, uint16_t unit)
{
	f->is_full = f->is_full || f->length + 1 > f->limit;
	if (!f->is_full && f->narrow)
		((char *)f->buffer)[f->length] = (char)unit;
	else if (!f->is_full)
		((uint16_t *)f->buffer)[f->length] = unit;
	f->length++;
	if (!f->is_full)
		f->written = f->length;
}

static void format_fill(struct format *f, char character, int64_t count)
{
	for (; count > 0; count--)
		format_put_unit(f, (uint8_t)character);
}

/* Text that is already narrow, `length` bytes, into its field. */
static void format_narrow_text(struct format *f, const struct format_spec *spec, const char *text,
			       size_t length)
{
	size_t units = f->narrow ? length : nt_utf16_from_utf8(NULL, 0, text, length);
	int64_t padding = (int64_t)spec->width - (int64_t)units;
	const char *end = text + length;

	if (!spec->left)
		format_fill(f, spec->zero ? '0' : ' ', padding);
	while (text != end) {
		if (f->narrow)
			format_put_unit(f, (uint8_t)*text++);
		else
			format_put(f, utf8_next(&text, end));
	}
	if (spec->left)
		format_fill(f, ' ', padding);
}

static void format_wide_text(struct format *f, const struct format_spec *spec, const uint16_t *text,
			     size_t length)
{
	size_t units = f->wide ? length : nt_utf8_from_utf16(NULL, 0, text, length);
	int64_t padding = (int64_t)spec->width - (int64_t)units;
	const uint16_t *end = text + length;

	if (!spec->left)
		format_fill(f, spec->zero ? '0' : ' ', padding);
	while (text != end) {
		if (f->wide)
			format_put_unit(f, *text++);
		else
			format_put(f, nt_utf16_next(&text, end));
	}
	if (spec->left)
		format_fill(f, ' ', padding);
}

/* The longest part that a precision allows; reads no further than that. */
static size_t format_limit(const struct format_spec *spec)
{
	return spec->precision < 0 ? SIZE_MAX : (size_t)spec->precision;
}

static void format_string(struct format *f, const struct format_spec *spec, bool is_wide)
{
	const void *text = va_arg(f->arguments, const void *);

	if (!text)
		format_narrow_text(f, spec, "(null)", strnlen("(null)", format_limit(spec)));
	else if (is_wide)
		format_wide_text(f, spec, text, nt_utf16_length(text, format_limit(spec)));
	else
		format_narrow_text(f, spec, text, strnlen(text, format_limit(spec)));
}

static void format_counted(struct format *f, const struct format_spec *spec)
{
	const void *string = va_arg(f->arguments, const void *);
	bool is_wide = spec->size == SIZE_WIDE || spec->size == SIZE_LONG;
	size_t limit = format_limit(spec);
	const UNICODE_STRING *wide = string;
	const ANSI_STRING *narrow = string;

	/* Both kinds have the same three fields in the same places. */
	if (!string || !narrow->Buffer)
		format_narrow_text(f, spec, "(null)", strnlen("(null)", limit));
	else if (is_wide)
		format_wide_text(f, spec, wide->Buffer,
				 wide->Length / sizeof(WCHAR) < limit ? wide->Length / sizeof(WCHAR)
								      : limit);
	else
		format_narrow_text(f, spec, narrow->Buffer,
				   narrow->Length < limit ? narrow->Length : limit);
}

static void format_character(struct format *f, const struct format_spec *spec, bool is_wide)
{
	int value = va_arg(f->arguments, int);

	if (is_wide) {
		uint16_t unit = (uint16_t)value;
		format_wide_text(f, spec, &unit, 1);
	} else {
		char byte = (char)value;
		format_narrow_text(f, spec, &byte, 1);
	}
}

/* Sign or 0x, then zeros up to precision or width, then the digits. */
static void format_number(struct format *f, const struct format_spec *spec, uint64_t value,
			  unsigned base, bool is_upper, const char *prefix)
{
	const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[24];
	int count = 0;

	for (; value != 0; value /= base)
		text[sizeof(text) - (size_t)++count] = digits[value % base];

	int64_t zeros = spec->precision < 0 ? (count == 0) : (int64_t)spec->precision - count;
	if (base == 8 && spec->alternate && zeros <= 0)
		zeros = 1;
	if (zeros < 0)
		zeros = 0;
	int64_t padding = (int64_t)spec->width - count - zeros - (int64_t)strlen(prefix);
	if (spec->zero && !spec->left && spec->precision < 0 && padding > 0) {
		zeros += padding;
		padding = 0;
	}

	if (!spec->left)
		format_fill(f, ' ', padding);
	for (; *prefix; prefix++)
		format_put_unit(f, (uint8_t)*prefix);
	format_fill(f, '0', zeros);
	for (int i = count; i > 0; i--)
		format_put_unit(f, (uint8_t)text[sizeof(text) - (size_t)i]);
	if (spec->left)
		format_fill(f, ' ', padding);
}

static void format_signed(struct format *f, const struct format_spec *spec)
{
	int64_t value =
		spec->size == SIZE_64 ? va_arg(f->arguments, long long) : va_arg(f->arguments, int);

	if (spec->size == SIZE_SHORT)
		value = (int16_t)value;
	else if (spec->size == SIZE_CHAR)
		value = (value & 0x7f) - (value & 0x80);
	format_number(f, spec, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, false,
		      value < 0     ? "-"
		      : spec->plus  ? "+"
		      : spec->space ? " "
				    : "");
}

static void format_unsigned(struct format *f, const struct format_spec *spec, uint16_t letter)
{
	uint64_t value = spec->size == SIZE_64 ? va_arg(f->arguments, unsigned long long)
					       : va_arg(f->arguments, unsigned);
	unsigned base = letter == 'o' ? 8 : letter == 'u' ? 10 : 16;
	const char *prefix = "";

	if (spec->size == SIZE_SHORT)
		value = (uint16_t)value;
	else if (spec->size == SIZE_CHAR)
		value = (uint8_t)value;
	if (base == 16 && spec->alternate && value != 0)
		prefix = letter == 'X' ? "0X" : "0x";
	format_number(f, spec, value, base, letter == 'X', prefix);
}

/* The Windows kernel prints none; here the argument is at least taken and shown. */
static void format_float(struct format *f, const struct format_spec *spec, uint16_t letter)
{
	double value = va_arg(f->arguments, double);
	int precision = spec->precision > 64 ? 64 : spec->precision;
	char text[512];
	int length;

	if (letter == 'e' || letter == 'E')
		length = snprintf(text, sizeof(text), "%.*e", precision, value);
	else if (letter == 'g' || letter == 'G')
		length = snprintf(text, sizeof(text), "%.*g", precision, value);
	else if (letter == 'a' || letter == 'A')
		length = snprintf(text, sizeof(text), "%.*a", precision, value);
	else
		length = snprintf(text, sizeof(text), "%.*f", precision, value);
	format_narrow_text(f, spec, text, length > 0 ? (size_t)length : 0);
}

static void format_guid(struct format *f, const struct format_spec *spec)
{
	const GUID *guid = va_arg(f->arguments, const GUID *);
	char text[40] = "(null)";

	if (guid)
		snprintf(text, sizeof(text), "{%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}",
			 guid->Data1, guid->Data2, guid->Data3, guid->Data4[0], guid->Data4[1],
			 guid->Data4[2], guid->Data4[3], guid->Data4[4], guid->Data4[5],
			 guid->Data4[6], guid->Data4[7]);
	format_narrow_text(f, spec, text, strlen(text));
}

/* At "!": true when it was one of WPP's names and has been printed. */
static bool format_wpp(struct format *f, const struct format_spec *spec)
{
	char name[16];
	size_t length = 0;

	while (length < sizeof(name) - 1 && format_peek(f, 1 + length) != 0 &&
	       format_peek(f, 1 + length) != '!') {
		name[length] = (char)format_peek(f, 1 + length);
		length++;
	}
	if (format_peek(f, 1 + length) != '!')
		return false;
	name[length] = '\0';

	if (strcmp(name, "STATUS") == 0) {
		const char *text = status_name(va_arg(f->arguments, int));
		format_narrow_text(f, spec, text, strlen(text));
	} else if (strcmp(name, "HRESULT") == 0) {
		struct format_spec digits = { .precision = 8 };
		format_number(f, &digits, va_arg(f->arguments, unsigned), 16, false, "0x");
	} else if (strcmp(name, "GUID") == 0) {
		format_guid(f, spec);
	} else {
		return false;
	}
	format_skip(f, length + 2);
	return true;
}

static int format_digits(struct format *f)
{
	int value = 0;

	while (format_peek(f, 0) >= '0' && format_peek(f, 0) <= '9') {
		if (value < 100000)
			value = value * 10 + (format_peek(f, 0) - '0');
		format_skip(f, 1);
	}
	return value;
}

static void format_read_flags(struct format *f, struct format_spec *spec)
{
	for (;; format_skip(f, 1)) {
		switch (format_peek(f, 0)) {
		case '-':
			spec->left = true;
			break;
		case '+':
			spec->plus = true;
			break;
		case ' ':
			spec->space = true;
			break;
		case '#':
			spec->alternate = true;
			break;
		case '0':
			spec->zero = true;
			break;
		default:
			return;
		}
	}
}

static void format_read_width(struct format *f, struct format_spec *spec)
{
	if (format_peek(f, 0) == '*') {
		format_skip(f, 1);
		spec->width = va_arg(f->arguments, int);
		if (spec->width < 0) {
			spec->left = true;
			spec->width = spec->width == INT32_MIN ? INT32_MAX : -spec->width;
		}
	} else {
		spec->width = format_digits(f);
	}

	spec->precision = -1;
	if (format_peek(f, 0) != '.')
		return;
	format_skip(f, 1);
	if (format_peek(f, 0) == '*') {
		format_skip(f, 1);
		spec->precision = va_arg(f->arguments, int);
	} else {
		spec->precision = format_digits(f);
	}
}

static void format_read_size(struct format *f, struct format_spec *spec)
{
	spec->size = SIZE_NONE;
	switch (format_peek(f, 0)) {
	case 'h':
		spec->size = format_peek(f, 1) == 'h' ? SIZE_CHAR : SIZE_SHORT;
		format_skip(f, spec->size == SIZE_CHAR ? 2 : 1);
		break;
	case 'l':
		spec->size = format_peek(f, 1) == 'l' ? SIZE_64 : SIZE_LONG;
		format_skip(f, spec->size == SIZE_64 ? 2 : 1);
		break;
	case 'w':
		spec->size = SIZE_WIDE;
		format_skip(f, 1);
		break;
	case 'j':
	case 'z':
	case 't':
		spec->size = SIZE_64;
		format_skip(f, 1);
		break;
	case 'I':
		spec->size = SIZE_64;
		format_skip(f, 1);
		if (format_peek(f, 0) == '6' && format_peek(f, 1) == '4') {
			format_skip(f, 2);
		} else if (format_peek(f, 0) == '3' && format_peek(f, 1) == '2') {
			format_skip(f, 2);
			spec->size = SIZE_LONG;
		}
		break;
	default:
		break;
	}
}

/* After the '%'. An unknown letter prints itself and takes no argument, as on Windows. */
static void format_conversion(struct format *f)
{
	struct format_spec spec = { 0 };

	format_read_flags(f, &spec);
	format_read_width(f, &spec);
	format_read_size(f, &spec);
	uint16_t letter = format_peek(f, 0);
	if (letter == '!') {
		if (!format_wpp(f, &spec))
			format_put_unit(f, '%');
		return;
	}
	if (letter == 0)
		return;
	format_skip(f, 1);

	/* What the plain letter means for this width, and what a prefix says instead. */
	bool is_wide = f->wide != NULL;
	if (letter == 'S' || letter == 'C')
		is_wide = !is_wide;
	if (spec.size == SIZE_SHORT)
		is_wide = false;
	else if (spec.size == SIZE_LONG || spec.size == SIZE_WIDE)
		is_wide = true;

	switch (letter) {
	case 'd':
	case 'i':
		format_signed(f, &spec);
		break;
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		format_unsigned(f, &spec, letter);
		break;
	case 'p':
		spec.precision = 16;
		format_number(f, &spec, (uintptr_t)va_arg(f->arguments, void *), 16, true,
			      spec.alternate ? "0X" : "");
		break;
	case 'c':
	case 'C':
		format_character(f, &spec, is_wide);
		break;
	case 's':
	case 'S':
		format_string(f, &spec, is_wide);
		break;
	case 'Z':
		format_counted(f, &spec);
		break;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		format_float(f, &spec, letter);
		break;
	case 'n':
		/* Taken so that the next argument is the right one, and never written through. */
		(void)va_arg(f->arguments, void *);
		break;
	default:
		format_put_unit(f, letter);
		break;
	}
}

static void format_run(struct format *f)
{
	uint16_t unit;

	while ((unit = format_peek(f, 0)) != 0) {
		format_skip(f, 1);
		if (unit != '%')
			format_put_unit(f, unit);
		else
			format_conversion(f);
	}
}

/* Bytes at the end of a cut text that begin a character without finishing it. */
static size_t format_unfinished(const char *text, size_t length)
{
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		uint8_t byte = (uint8_t)text[length - back];

		if (byte < 0x80)
			return 0;
		if (byte >= 0xc0)
			return back < (byte >= 0xf0 ? 4u : byte >= 0xe0 ? 3u : 2u) ? back : 0;
	}
	return 0;
}

size_t nt_format_narrow(char *buffer, size_t limit, size_t *written_out, const char *format,
			va_list arguments)
{
	struct format f = { .narrow = format, .buffer = buffer, .limit = limit };

	va_copy(f.arguments, arguments);
	format_run(&f);
	va_end(f.arguments);

	if (f.is_full)
		f.written -= format_unfinished(buffer, f.written);
	if (written_out)
		*written_out = f.written;
	return f.length;
}

size_t nt_format_wide(uint16_t *buffer, size_t limit, size_t *written_out, const uint16_t *format,
		      va_list arguments)
{
	struct format f = { .wide = format, .buffer = buffer, .limit = limit };

	va_copy(f.arguments, arguments);
	format_run(&f);
	va_end(f.arguments);

	if (f.is_full && f.written > 0 && (buffer[f.written - 1] & 0xfc00) == 0xd800)
		f.written--;
	if (written_out)
		*written_out = f.written;
	return f.length;
}
