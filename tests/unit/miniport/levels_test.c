/* SPDX-License-Identifier: MIT */
/*
 * levels_test.c - the host's list of entry points (ddi.def) against what the documentation says of
 * each, written down on its own (tests/drivers/levels/levels.def).
 */
#include "miniport/ddi.h"
#include "support/test.h"

enum said_irql { PASSIVE, UP_TO_APC, UP_TO_DISPATCH, DISPATCH, DIRQL, ANY };
enum said_level { LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, ALWAYS, UNSAID };
enum said_class {
	SCHEDULER = DDI_CLASS_SCHEDULER,
	VIDMM = DDI_CLASS_VIDMM,
	SWIZZLING = DDI_CLASS_SWIZZLING,
	OVERLAY = DDI_CLASS_OVERLAY,
	POINTER = DDI_CLASS_POINTER,
	CHILD = DDI_CLASS_CHILD,
	DISPLAY = DDI_CLASS_DISPLAY,
	NONE = DDI_CLASS_NONE,
	INTERRUPT,
	DPC,
};

static const struct said {
	const char *name;
	enum said_irql irql;
	enum said_level level;
	enum said_class class;
} said[] = {
#define ENTRY(member, irql, level, class) { "DxgkDdi" #member, irql, level, class },
#include "drivers/levels/levels.def"
#undef ENTRY
};

static const struct said *said_of(const char *name)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (strcmp(said[i].name, name) == 0)
			return &said[i];
	}
	return NULL;
}

static const struct ddi_info *info_of(const char *name)
{
	for (size_t i = 0; i < DDI_COUNT; i++) {
		if (strcmp(ddi_infos[i].name, name) == 0)
			return &ddi_infos[i];
	}
	return NULL;
}

static bool is_irql_as_said(enum ddi_irql irql, enum said_irql wanted)
{
	switch (wanted) {
	case PASSIVE:
	case UP_TO_APC:
		return irql == DDI_IRQL_PASSIVE;
	case UP_TO_DISPATCH:
		return irql == DDI_IRQL_PASSIVE || irql == DDI_IRQL_DISPATCH;
	case DISPATCH:
		return irql == DDI_IRQL_DISPATCH;
	case DIRQL:
		return irql == DDI_IRQL_DIRQL;
	case ANY:
		break;
	}
	return irql == DDI_IRQL_ANY;
}

static bool is_level_as_said(const struct ddi_info *info, const struct said *wanted)
{
	switch (wanted->level) {
	case LEVEL_0:
		return info->level == DDI_LEVEL_0;
	case LEVEL_1:
		return info->level == DDI_LEVEL_1 && (int)info->class == (int)wanted->class;
	case LEVEL_2:
		return info->level == DDI_LEVEL_2;
	case LEVEL_3:
		return info->level == DDI_LEVEL_3;
	case ALWAYS:
		return info->level == DDI_LEVEL_NONE;
	case UNSAID:
		break;
	}
	return true;
}

TEST(levels, list_has_every_entry_point_that_is_documented)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (!info_of(said[i].name))
			print_error("%s is not in ddi.def\n", said[i].name);
		EXPECT(info_of(said[i].name));
	}
}

TEST(levels, list_has_the_documented_irql)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const struct ddi_info *info = info_of(said[i].name);

		if (info && is_irql_as_said(info->irql, said[i].irql))
			continue;
		print_error("%s has another IRQL\n", said[i].name);
		wrong++;
	}
	EXPECT_EQ(wrong, 0);
}

TEST(levels, list_has_the_documented_level_and_class)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const struct ddi_info *info = info_of(said[i].name);

		if (info && is_level_as_said(info, &said[i]))
			continue;
		print_error("%s has another level or class\n", said[i].name);
		wrong++;
	}
	EXPECT_EQ(wrong, 0);
}

/* Nothing of ours is called at a raised IRQL, or together with everything, without being told so.
 */
TEST(levels, are_cautious_where_nothing_is_documented)
{
	for (size_t i = 0; i < DDI_COUNT; i++) {
		const struct ddi_info *info = &ddi_infos[i];

		if (said_of(info->name))
			continue;
		EXPECT_EQ(info->irql, DDI_IRQL_PASSIVE);
		EXPECT(info->level != DDI_LEVEL_NONE);
	}
}

TEST_MAIN("miniport/levels")
