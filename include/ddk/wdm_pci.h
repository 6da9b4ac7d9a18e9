/* SPDX-License-Identifier: MIT */
/*
 * wdm_pci.h - PCI configuration space: headers, base addresses, capabilities.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_PCI_H
#define OPENDXGK_DDK_WDM_PCI_H

#include "ntdef.h"

OPENDXGK_EXTERN_C_BEGIN

#define PCI_WHICHSPACE_CONFIG 0x0
#define PCI_WHICHSPACE_ROM    0x52696350
#define PCI_TYPE0_ADDRESSES   6
#define PCI_TYPE1_ADDRESSES   2
#define PCI_TYPE2_ADDRESSES   5
#define PCI_MAX_DEVICES       32
#define PCI_MAX_FUNCTION      8
#define PCI_MAX_BRIDGE_NUMBER 0xFF
#define PCI_INVALID_VENDORID  0xFFFF
#define PCI_MULTIFUNCTION     0x80
#define PCI_DEVICE_TYPE       0x00
#define PCI_BRIDGE_TYPE         0x01
#define PCI_CARDBUS_BRIDGE_TYPE 0x02

#define PCI_CONFIGURATION_TYPE(header)   ((header)->HeaderType & ~PCI_MULTIFUNCTION)
#define PCI_MULTIFUNCTION_DEVICE(header) (((header)->HeaderType & PCI_MULTIFUNCTION) != 0)

/* Command, and Status. */
#define PCI_ENABLE_IO_SPACE               0x0001
#define PCI_ENABLE_MEMORY_SPACE           0x0002
#define PCI_ENABLE_BUS_MASTER             0x0004
#define PCI_ENABLE_SPECIAL_CYCLES         0x0008
#define PCI_ENABLE_WRITE_AND_INVALIDATE   0x0010
#define PCI_ENABLE_VGA_COMPATIBLE_PALETTE 0x0020
#define PCI_ENABLE_PARITY                 0x0040
#define PCI_ENABLE_WAIT_CYCLE             0x0080
#define PCI_ENABLE_SERR                   0x0100
#define PCI_ENABLE_FAST_BACK_TO_BACK      0x0200
#define PCI_DISABLE_LEVEL_INTERRUPT       0x0400

#define PCI_STATUS_INTERRUPT_PENDING     0x0008
#define PCI_STATUS_CAPABILITIES_LIST     0x0010
#define PCI_STATUS_66MHZ_CAPABLE         0x0020
#define PCI_STATUS_UDF_SUPPORTED         0x0040
#define PCI_STATUS_FAST_BACK_TO_BACK     0x0080
#define PCI_STATUS_DATA_PARITY_DETECTED  0x0100
#define PCI_STATUS_DEVSEL                0x0600
#define PCI_STATUS_SIGNALED_TARGET_ABORT 0x0800
#define PCI_STATUS_RECEIVED_TARGET_ABORT 0x1000
#define PCI_STATUS_RECEIVED_MASTER_ABORT 0x2000
#define PCI_STATUS_SIGNALED_SYSTEM_ERROR 0x4000
#define PCI_STATUS_DETECTED_PARITY_ERROR 0x8000

/* A base address, and what its low bits say about it. */
#define PCI_ADDRESS_IO_SPACE            0x00000001
#define PCI_ADDRESS_MEMORY_TYPE_MASK    0x00000006
#define PCI_ADDRESS_MEMORY_PREFETCHABLE 0x00000008
#define PCI_ADDRESS_IO_ADDRESS_MASK     0xfffffffc
#define PCI_ADDRESS_MEMORY_ADDRESS_MASK 0xfffffff0
#define PCI_ADDRESS_ROM_ADDRESS_MASK    0xfffff800
#define PCI_ROMADDRESS_ENABLED          0x00000001

#define PCI_TYPE_32BIT 0
#define PCI_TYPE_20BIT 2
#define PCI_TYPE_64BIT 4

/* Classes. */
#define PCI_CLASS_PRE_20               0x00
#define PCI_CLASS_MASS_STORAGE_CTLR    0x01
#define PCI_CLASS_NETWORK_CTLR         0x02
#define PCI_CLASS_DISPLAY_CTLR         0x03
#define PCI_CLASS_MULTIMEDIA_DEV       0x04
#define PCI_CLASS_MEMORY_CTLR          0x05
#define PCI_CLASS_BRIDGE_DEV           0x06
#define PCI_SUBCLASS_VID_VGA_CTLR      0x00
#define PCI_SUBCLASS_VID_XGA_CTLR      0x01
#define PCI_SUBLCASS_VID_3D_CTLR       0x02 /* spelled so everywhere */
#define PCI_SUBCLASS_VID_OTHER         0x80

typedef struct _PCI_SLOT_NUMBER {
	union {
		struct {
			ULONG DeviceNumber : 5;
			ULONG FunctionNumber : 3;
			ULONG Reserved : 24;
		} bits;
		ULONG AsULONG;
	} u;
} PCI_SLOT_NUMBER, *PPCI_SLOT_NUMBER;

#define OPENDXGK_PCI_COMMON_FIELDS                                                                 \
	USHORT VendorID;                                                                           \
	USHORT DeviceID;                                                                           \
	USHORT Command;                                                                            \
	USHORT Status;                                                                             \
	UCHAR RevisionID;                                                                          \
	UCHAR ProgIf;                                                                              \
	UCHAR SubClass;                                                                            \
	UCHAR BaseClass;                                                                           \
	UCHAR CacheLineSize;                                                                       \
	UCHAR LatencyTimer;                                                                        \
	UCHAR HeaderType;                                                                          \
	UCHAR BIST;                                                                                \
	union {                                                                                    \
		struct {                                                                           \
			ULONG BaseAddresses[PCI_TYPE0_ADDRESSES];                                  \
			ULONG CIS;                                                                 \
			USHORT SubVendorID;                                                        \
			USHORT SubSystemID;                                                        \
			ULONG ROMBaseAddress;                                                      \
			UCHAR CapabilitiesPtr;                                                     \
			UCHAR Reserved1[3];                                                        \
			ULONG Reserved2;                                                           \
			UCHAR InterruptLine;                                                       \
			UCHAR InterruptPin;                                                        \
			UCHAR MinimumGrant;                                                        \
			UCHAR MaximumLatency;                                                      \
		} type0;                                                                           \
		struct {                                                                           \
			ULONG BaseAddresses[PCI_TYPE1_ADDRESSES];                                  \
			UCHAR PrimaryBus;                                                          \
			UCHAR SecondaryBus;                                                        \
			UCHAR SubordinateBus;                                                      \
			UCHAR SecondaryLatency;                                                    \
			UCHAR IOBase;                                                              \
			UCHAR IOLimit;                                                             \
			USHORT SecondaryStatus;                                                    \
			USHORT MemoryBase;                                                         \
			USHORT MemoryLimit;                                                        \
			USHORT PrefetchBase;                                                       \
			USHORT PrefetchLimit;                                                      \
			ULONG PrefetchBaseUpper32;                                                 \
			ULONG PrefetchLimitUpper32;                                                \
			USHORT IOBaseUpper16;                                                      \
			USHORT IOLimitUpper16;                                                     \
			UCHAR CapabilitiesPtr;                                                     \
			UCHAR Reserved1[3];                                                        \
			ULONG ROMBaseAddress;                                                      \
			UCHAR InterruptLine;                                                       \
			UCHAR InterruptPin;                                                        \
			USHORT BridgeControl;                                                      \
		} type1;                                                                           \
		struct {									   \
			ULONG SocketRegistersBaseAddress;					   \
			UCHAR CapabilitiesPtr;							   \
			UCHAR Reserved;								   \
			USHORT SecondaryStatus;							   \
			UCHAR PrimaryBus;							   \
			UCHAR SecondaryBus;							   \
			UCHAR SubordinateBus;							   \
			UCHAR SecondaryLatency;							   \
			struct {								   \
				ULONG Base;							   \
				ULONG Limit;							   \
			} Range[PCI_TYPE2_ADDRESSES - 1];					   \
			UCHAR InterruptLine;							   \
			UCHAR InterruptPin;							   \
			USHORT BridgeControl;							   \
		} type2;									   \
	} u;

typedef struct _PCI_COMMON_HEADER {
	OPENDXGK_PCI_COMMON_FIELDS
} PCI_COMMON_HEADER, *PPCI_COMMON_HEADER;

typedef struct _PCI_COMMON_CONFIG {
	OPENDXGK_PCI_COMMON_FIELDS
	UCHAR DeviceSpecific[192];
} PCI_COMMON_CONFIG, *PPCI_COMMON_CONFIG;

#define PCI_COMMON_HDR_LENGTH (FIELD_OFFSET(PCI_COMMON_CONFIG, DeviceSpecific))

/* What to look for on the buses; the flags say which members count. */
#define PCI_USE_SUBSYSTEM_IDS  0x00000001
#define PCI_USE_REVISION       0x00000002
#define PCI_USE_VENDEV_IDS     0x00000004
#define PCI_USE_CLASS_SUBCLASS 0x00000008
#define PCI_USE_PROGIF         0x00000010
#define PCI_USE_LOCAL_BUS      0x00000020
#define PCI_USE_LOCAL_DEVICE   0x00000040

typedef struct _PCI_DEVICE_PRESENCE_PARAMETERS {
	ULONG Size;
	ULONG Flags;
	USHORT VendorID;
	USHORT DeviceID;
	UCHAR RevisionID;
	USHORT SubVendorID;
	USHORT SubSystemID;
	UCHAR BaseClass;
	UCHAR SubClass;
	UCHAR ProgIf;
} PCI_DEVICE_PRESENCE_PARAMETERS, *PPCI_DEVICE_PRESENCE_PARAMETERS;

typedef struct _PCI_CAPABILITIES_HEADER {
	UCHAR CapabilityID;
	UCHAR Next;
} PCI_CAPABILITIES_HEADER, *PPCI_CAPABILITIES_HEADER;

#define PCI_CAPABILITY_ID_POWER_MANAGEMENT  0x01
#define PCI_CAPABILITY_ID_AGP               0x02
#define PCI_CAPABILITY_ID_VPD               0x03
#define PCI_CAPABILITY_ID_SLOT_ID           0x04
#define PCI_CAPABILITY_ID_MSI               0x05
#define PCI_CAPABILITY_ID_CPCI_HOTSWAP      0x06
#define PCI_CAPABILITY_ID_PCIX              0x07
#define PCI_CAPABILITY_ID_HYPERTRANSPORT    0x08
#define PCI_CAPABILITY_ID_VENDOR_SPECIFIC   0x09
#define PCI_CAPABILITY_ID_DEBUG_PORT        0x0A
#define PCI_CAPABILITY_ID_CPCI_RES_CTRL     0x0B
#define PCI_CAPABILITY_ID_SHPC              0x0C
#define PCI_CAPABILITY_ID_P2P_SSID          0x0D
#define PCI_CAPABILITY_ID_AGP_TARGET        0x0E
#define PCI_CAPABILITY_ID_SECURE            0x0F
#define PCI_CAPABILITY_ID_PCI_EXPRESS       0x10
#define PCI_CAPABILITY_ID_MSIX              0x11
#define PCI_CAPABILITY_ID_SATA_CONFIG       0x12
#define PCI_CAPABILITY_ID_ADVANCED_FEATURES 0x13

typedef struct _PCI_MSIX_CAPABILITY {
	PCI_CAPABILITIES_HEADER Header;
	struct {
		USHORT TableSize : 11;
		USHORT Reserved : 3;
		USHORT FunctionMask : 1;
		USHORT MSIXEnable : 1;
	} MessageControl;
	union {
		struct {
			ULONG BaseIndexRegister : 3;
			ULONG Reserved : 29;
		};
		ULONG TableOffset;
	} MessageTable;
	union {
		struct {
			ULONG BaseIndexRegister : 3;
			ULONG Reserved : 29;
		};
		ULONG TableOffset;
	} PBATable;
} PCI_MSIX_CAPABILITY, *PPCI_MSIX_CAPABILITY;

OPENDXGK_EXTERN_C_END

#endif
