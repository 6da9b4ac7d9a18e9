/* SPDX-License-Identifier: MIT */
/*
 * config_parts.h - what the files that read the profile share.
 */
#ifndef EMBED_CONFIG_PARTS_H
#define EMBED_CONFIG_PARTS_H

#include <stdint.h>

#include "embed/config.h"
#include "base/json.h"

/* A member of an object, by its name: `read` writes what it says into what is being read. */
struct config_member {
	const char *name;
	NTSTATUS (*read)(struct json_document *document, const struct json *value, void *into);
};

/* Every member once, no other. `what` names the object in complaints. */
MUST_CHECK NTSTATUS config_read_members(struct json_document *document, const struct json *value,
					const char *what, const struct config_member *members,
					size_t count, void *into);

/* The member of that name; NULL when there is none. */
const struct json *config_find(const struct json *value, const char *name);

MUST_CHECK NTSTATUS config_expect(struct json_document *document, const struct json *value,
				  enum json_type wanted, const char *what);
NTSTATUS config_no_memory(struct json_document *document, const struct json *where);

/* A whole number, or one written as "0x1af4". */
MUST_CHECK NTSTATUS config_read_number(struct json_document *document, const struct json *value,
				       const char *what, uint32_t least, uint32_t most,
				       uint32_t *number_out);

/* config_limits.c: member of the profile. */
NTSTATUS config_read_limits(struct json_document *document, const struct json *value, void *into);

/* config_registry.c: member of an adapter. */
NTSTATUS config_read_registry(struct json_document *document, const struct json *value, void *into);
void config_free_registry(struct miniport_config *adapter);

/* config_pci.c: member of an adapter. */
NTSTATUS config_read_pci(struct json_document *document, const struct json *value, void *into);
void config_free_pci(const struct miniport_pci *pci);

/* config_device.c: members of an adapter, and whether they go together. */
NTSTATUS config_read_hardware_ids(struct json_document *document, const struct json *value,
				  void *into);
NTSTATUS config_read_compatible_ids(struct json_document *document, const struct json *value,
				    void *into);
NTSTATUS config_read_resources(struct json_document *document, const struct json *value,
			       void *into);
MUST_CHECK NTSTATUS config_check_device(struct json_document *document, const struct json *value,
					const struct miniport_config *adapter);
void config_free_device(struct miniport_config *adapter);

#endif
