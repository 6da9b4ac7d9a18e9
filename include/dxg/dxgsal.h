/* SPDX-License-Identifier: MIT */
/*
 * dxgsal.h - the source annotations that Windows code carries, all of them empty.
 *
 * They describe a contract to Microsoft's analyser and mean nothing to a compiler. Each one stands
 * under its own #ifndef, so that a project which brings its own definitions keeps them.
 */
#ifndef OPENDXGK_DXGSAL_H
#define OPENDXGK_DXGSAL_H

/* Parameters: direction, and whether NULL is allowed. */

#ifndef _In_
#define _In_
#endif
#ifndef _In_opt_
#define _In_opt_
#endif
#ifndef _In_z_
#define _In_z_
#endif
#ifndef _In_opt_z_
#define _In_opt_z_
#endif
#ifndef _Out_
#define _Out_
#endif
#ifndef _Out_opt_
#define _Out_opt_
#endif
#ifndef _Inout_
#define _Inout_
#endif
#ifndef _Inout_opt_
#define _Inout_opt_
#endif
#ifndef _Inout_z_
#define _Inout_z_
#endif
#ifndef _Inout_opt_z_
#define _Inout_opt_z_
#endif
#ifndef _Outptr_
#define _Outptr_
#endif
#ifndef _Outptr_opt_
#define _Outptr_opt_
#endif
#ifndef _Outptr_result_maybenull_
#define _Outptr_result_maybenull_
#endif
#ifndef _Outptr_opt_result_maybenull_
#define _Outptr_opt_result_maybenull_
#endif
#ifndef _Outref_
#define _Outref_
#endif
#ifndef _Reserved_
#define _Reserved_
#endif
#ifndef _Const_
#define _Const_
#endif
#ifndef _Notnull_
#define _Notnull_
#endif
#ifndef _Maybenull_
#define _Maybenull_
#endif
#ifndef _Null_
#define _Null_
#endif
#ifndef _Valid_
#define _Valid_
#endif
#ifndef _Notvalid_
#define _Notvalid_
#endif
#ifndef _Null_terminated_
#define _Null_terminated_
#endif
#ifndef _NullNull_terminated_
#define _NullNull_terminated_
#endif
#ifndef _Ret_maybenull_
#define _Ret_maybenull_
#endif
#ifndef _Ret_notnull_
#define _Ret_notnull_
#endif
#ifndef _Ret_null_
#define _Ret_null_
#endif
#ifndef _Ret_valid_
#define _Ret_valid_
#endif
#ifndef _Ret_z_
#define _Ret_z_
#endif
#ifndef _Ret_maybenull_z_
#define _Ret_maybenull_z_
#endif
#ifndef _Deref_out_
#define _Deref_out_
#endif
#ifndef _Deref_out_opt_
#define _Deref_out_opt_
#endif
#ifndef _Deref_opt_out_
#define _Deref_opt_out_
#endif
#ifndef _Deref_opt_out_opt_
#define _Deref_opt_out_opt_
#endif
#ifndef _Deref_pre_z_
#define _Deref_pre_z_
#endif
#ifndef _Deref_post_z_
#define _Deref_post_z_
#endif
#ifndef _Deref_prepost_z_
#define _Deref_prepost_z_
#endif
#ifndef _Pre_z_
#define _Pre_z_
#endif
#ifndef _Pre_valid_
#define _Pre_valid_
#endif
#ifndef _Pre_null_
#define _Pre_null_
#endif
#ifndef _Pre_notnull_
#define _Pre_notnull_
#endif
#ifndef _Pre_maybenull_
#define _Pre_maybenull_
#endif
#ifndef _Pre_invalid_
#define _Pre_invalid_
#endif
#ifndef _Pre_opt_valid_
#define _Pre_opt_valid_
#endif
#ifndef _Post_z_
#define _Post_z_
#endif
#ifndef _Post_valid_
#define _Post_valid_
#endif
#ifndef _Post_invalid_
#define _Post_invalid_
#endif
#ifndef _Post_ptr_invalid_
#define _Post_ptr_invalid_
#endif
#ifndef _Post_null_
#define _Post_null_
#endif
#ifndef _Post_notnull_
#define _Post_notnull_
#endif
#ifndef _Post_maybenull_
#define _Post_maybenull_
#endif
#ifndef _Prepost_valid_
#define _Prepost_valid_
#endif
#ifndef _Prepost_opt_valid_
#define _Prepost_opt_valid_
#endif
#ifndef _Printf_format_string_
#define _Printf_format_string_
#endif
#ifndef _Scanf_format_string_
#define _Scanf_format_string_
#endif
#ifndef _Points_to_data_
#define _Points_to_data_
#endif
#ifndef _Frees_ptr_
#define _Frees_ptr_
#endif
#ifndef _Frees_ptr_opt_
#define _Frees_ptr_opt_
#endif

/* Parameters and fields whose size another one counts. */

#ifndef _In_reads_
#define _In_reads_(x)
#endif
#ifndef _In_reads_opt_
#define _In_reads_opt_(x)
#endif
#ifndef _In_reads_bytes_
#define _In_reads_bytes_(x)
#endif
#ifndef _In_reads_bytes_opt_
#define _In_reads_bytes_opt_(x)
#endif
#ifndef _In_reads_z_
#define _In_reads_z_(x)
#endif
#ifndef _In_reads_opt_z_
#define _In_reads_opt_z_(x)
#endif
#ifndef _In_reads_or_z_
#define _In_reads_or_z_(x)
#endif
#ifndef _In_reads_to_ptr_
#define _In_reads_to_ptr_(x)
#endif
#ifndef _In_range_
#define _In_range_(x, y)
#endif
#ifndef _In_count_
#define _In_count_(x)
#endif
#ifndef _In_opt_count_
#define _In_opt_count_(x)
#endif
#ifndef _In_bytecount_
#define _In_bytecount_(x)
#endif
#ifndef _In_opt_bytecount_
#define _In_opt_bytecount_(x)
#endif
#ifndef _Out_writes_
#define _Out_writes_(x)
#endif
#ifndef _Out_writes_opt_
#define _Out_writes_opt_(x)
#endif
#ifndef _Out_writes_bytes_
#define _Out_writes_bytes_(x)
#endif
#ifndef _Out_writes_bytes_opt_
#define _Out_writes_bytes_opt_(x)
#endif
#ifndef _Out_writes_z_
#define _Out_writes_z_(x)
#endif
#ifndef _Out_writes_opt_z_
#define _Out_writes_opt_z_(x)
#endif
#ifndef _Out_writes_all_
#define _Out_writes_all_(x)
#endif
#ifndef _Out_writes_all_opt_
#define _Out_writes_all_opt_(x)
#endif
#ifndef _Out_writes_bytes_all_
#define _Out_writes_bytes_all_(x)
#endif
#ifndef _Out_writes_bytes_all_opt_
#define _Out_writes_bytes_all_opt_(x)
#endif
#ifndef _Out_writes_to_
#define _Out_writes_to_(x, y)
#endif
#ifndef _Out_writes_to_opt_
#define _Out_writes_to_opt_(x, y)
#endif
#ifndef _Out_writes_bytes_to_
#define _Out_writes_bytes_to_(x, y)
#endif
#ifndef _Out_writes_bytes_to_opt_
#define _Out_writes_bytes_to_opt_(x, y)
#endif
#ifndef _Out_range_
#define _Out_range_(x, y)
#endif
#ifndef _Out_cap_
#define _Out_cap_(x)
#endif
#ifndef _Out_opt_cap_
#define _Out_opt_cap_(x)
#endif
#ifndef _Out_bytecap_
#define _Out_bytecap_(x)
#endif
#ifndef _Inout_updates_
#define _Inout_updates_(x)
#endif
#ifndef _Inout_updates_opt_
#define _Inout_updates_opt_(x)
#endif
#ifndef _Inout_updates_z_
#define _Inout_updates_z_(x)
#endif
#ifndef _Inout_updates_all_
#define _Inout_updates_all_(x)
#endif
#ifndef _Inout_updates_all_opt_
#define _Inout_updates_all_opt_(x)
#endif
#ifndef _Inout_updates_to_
#define _Inout_updates_to_(x, y)
#endif
#ifndef _Inout_updates_bytes_
#define _Inout_updates_bytes_(x)
#endif
#ifndef _Inout_updates_bytes_opt_
#define _Inout_updates_bytes_opt_(x)
#endif
#ifndef _Inout_updates_bytes_all_
#define _Inout_updates_bytes_all_(x)
#endif
#ifndef _Inout_updates_bytes_to_
#define _Inout_updates_bytes_to_(x, y)
#endif
#ifndef _Outptr_result_buffer_
#define _Outptr_result_buffer_(x)
#endif
#ifndef _Outptr_result_bytebuffer_
#define _Outptr_result_bytebuffer_(x)
#endif
#ifndef _Outptr_result_buffer_maybenull_
#define _Outptr_result_buffer_maybenull_(x)
#endif
#ifndef _Outptr_result_bytebuffer_maybenull_
#define _Outptr_result_bytebuffer_maybenull_(x)
#endif
#ifndef _Outptr_opt_result_buffer_
#define _Outptr_opt_result_buffer_(x)
#endif
#ifndef _Outptr_opt_result_bytebuffer_
#define _Outptr_opt_result_bytebuffer_(x)
#endif
#ifndef _Ret_range_
#define _Ret_range_(x, y)
#endif
#ifndef _Ret_writes_
#define _Ret_writes_(x)
#endif
#ifndef _Ret_writes_maybenull_
#define _Ret_writes_maybenull_(x)
#endif
#ifndef _Ret_writes_bytes_
#define _Ret_writes_bytes_(x)
#endif
#ifndef _Ret_writes_bytes_maybenull_
#define _Ret_writes_bytes_maybenull_(x)
#endif
#ifndef _Deref_in_range_
#define _Deref_in_range_(x, y)
#endif
#ifndef _Deref_out_range_
#define _Deref_out_range_(x, y)
#endif
#ifndef _Field_range_
#define _Field_range_(x, y)
#endif
#ifndef _Field_size_
#define _Field_size_(x)
#endif
#ifndef _Field_size_opt_
#define _Field_size_opt_(x)
#endif
#ifndef _Field_size_full_
#define _Field_size_full_(x)
#endif
#ifndef _Field_size_full_opt_
#define _Field_size_full_opt_(x)
#endif
#ifndef _Field_size_part_
#define _Field_size_part_(x, y)
#endif
#ifndef _Field_size_part_opt_
#define _Field_size_part_opt_(x, y)
#endif
#ifndef _Field_size_bytes_
#define _Field_size_bytes_(x)
#endif
#ifndef _Field_size_bytes_opt_
#define _Field_size_bytes_opt_(x)
#endif
#ifndef _Field_size_bytes_full_
#define _Field_size_bytes_full_(x)
#endif
#ifndef _Field_size_bytes_full_opt_
#define _Field_size_bytes_full_opt_(x)
#endif
#ifndef _Field_size_bytes_part_
#define _Field_size_bytes_part_(x, y)
#endif
#ifndef _Field_z_
#define _Field_z_
#endif
#ifndef _Struct_size_bytes_
#define _Struct_size_bytes_(x)
#endif
#ifndef _Readable_bytes_
#define _Readable_bytes_(x)
#endif
#ifndef _Readable_elements_
#define _Readable_elements_(x)
#endif
#ifndef _Writable_bytes_
#define _Writable_bytes_(x)
#endif
#ifndef _Writable_elements_
#define _Writable_elements_(x)
#endif
#ifndef _Pre_readable_size_
#define _Pre_readable_size_(x)
#endif
#ifndef _Pre_readable_byte_size_
#define _Pre_readable_byte_size_(x)
#endif
#ifndef _Pre_writable_size_
#define _Pre_writable_size_(x)
#endif
#ifndef _Pre_writable_byte_size_
#define _Pre_writable_byte_size_(x)
#endif
#ifndef _Post_readable_size_
#define _Post_readable_size_(x)
#endif
#ifndef _Post_readable_byte_size_
#define _Post_readable_byte_size_(x)
#endif
#ifndef _Post_writable_size_
#define _Post_writable_size_(x)
#endif
#ifndef _Post_writable_byte_size_
#define _Post_writable_byte_size_(x)
#endif
#ifndef _Post_equal_to_
#define _Post_equal_to_(x)
#endif

/* Functions: results, success, analysis. */

#ifndef _Check_return_
#define _Check_return_
#endif
#ifndef _Must_inspect_result_
#define _Must_inspect_result_
#endif
#ifndef _Use_decl_annotations_
#define _Use_decl_annotations_
#endif
#ifndef _Success_
#define _Success_(x)
#endif
#ifndef _Return_type_success_
#define _Return_type_success_(x)
#endif
#ifndef _On_failure_
#define _On_failure_(x)
#endif
#ifndef _Always_
#define _Always_(x)
#endif
#ifndef _Pre_satisfies_
#define _Pre_satisfies_(x)
#endif
#ifndef _Post_satisfies_
#define _Post_satisfies_(x)
#endif
#ifndef _Satisfies_
#define _Satisfies_(x)
#endif
#ifndef _Analysis_assume_
#define _Analysis_assume_(x)
#endif
#ifndef _Analysis_noreturn_
#define _Analysis_noreturn_
#endif
#ifndef _Literal_
#define _Literal_
#endif
#ifndef _Notliteral_
#define _Notliteral_
#endif
#ifndef _Enum_is_bitflag_
#define _Enum_is_bitflag_
#endif
#ifndef _Strict_type_match_
#define _Strict_type_match_
#endif
#ifndef _Raises_SEH_exception_
#define _Raises_SEH_exception_
#endif
#ifndef _Maybe_raises_SEH_exception_
#define _Maybe_raises_SEH_exception_
#endif
#ifndef _Function_class_
#define _Function_class_(x)
#endif
#ifndef _Function_class_DXGK_
#define _Function_class_DXGK_(x)
#endif
#ifndef _Kernel_entry_
#define _Kernel_entry_
#endif
#ifndef _Kernel_clear_do_init_
#define _Kernel_clear_do_init_(x)
#endif
#ifndef _When_
#define _When_(x, y)
#endif
#ifndef _At_
#define _At_(x, y)
#endif
#ifndef _At_buffer_
#define _At_buffer_(w, x, y, z)
#endif
#ifndef _Group_
#define _Group_(x)
#endif
#ifndef _Unchanged_
#define _Unchanged_(x)
#endif
#ifndef _Interlocked_operand_
#define _Interlocked_operand_
#endif
#ifndef _Interlocked_
#define _Interlocked_
#endif
#ifndef _Is_aliased_
#define _Is_aliased_
#endif
#ifndef __drv_aliasesMem
#define __drv_aliasesMem
#endif
#ifndef __drv_freesMem
#define __drv_freesMem(x)
#endif
#ifndef __drv_allocatesMem
#define __drv_allocatesMem(x)
#endif
#ifndef __drv_strictTypeMatch
#define __drv_strictTypeMatch(x)
#endif
#ifndef __drv_maxIRQL
#define __drv_maxIRQL(x)
#endif
#ifndef __drv_minIRQL
#define __drv_minIRQL(x)
#endif
#ifndef __drv_requiresIRQL
#define __drv_requiresIRQL(x)
#endif
#ifndef __drv_sameIRQL
#define __drv_sameIRQL
#endif
#ifndef __drv_raisesIRQL
#define __drv_raisesIRQL(x)
#endif
#ifndef __drv_savesIRQL
#define __drv_savesIRQL
#endif
#ifndef __drv_restoresIRQL
#define __drv_restoresIRQL
#endif
#ifndef __drv_functionClass
#define __drv_functionClass(x)
#endif
#ifndef __drv_dispatchType
#define __drv_dispatchType(x)
#endif
#ifndef __drv_when
#define __drv_when(x, y)
#endif
#ifndef __drv_at
#define __drv_at(x, y)
#endif
#ifndef __drv_in
#define __drv_in(x)
#endif
#ifndef __drv_out
#define __drv_out(x)
#endif
#ifndef __drv_preferredFunction
#define __drv_preferredFunction(x, y)
#endif
#ifndef __drv_reportError
#define __drv_reportError(x)
#endif
#ifndef __drv_mustHold
#define __drv_mustHold(x)
#endif
#ifndef __drv_neverHold
#define __drv_neverHold(x)
#endif
#ifndef __drv_acquiresExclusiveResource
#define __drv_acquiresExclusiveResource(x)
#endif
#ifndef __drv_releasesExclusiveResource
#define __drv_releasesExclusiveResource(x)
#endif
#ifndef __drv_interlocked
#define __drv_interlocked
#endif
#ifndef __drv_aliasesMem_
#define __drv_aliasesMem_
#endif
#ifndef _Dispatch_type_
#define _Dispatch_type_(x)
#endif

/* IRQL. */

#ifndef _IRQL_
#define _IRQL_
#endif
#ifndef _IRQL_saves_
#define _IRQL_saves_
#endif
#ifndef _IRQL_saves_global_
#define _IRQL_saves_global_(x, y)
#endif
#ifndef _IRQL_restores_
#define _IRQL_restores_
#endif
#ifndef _IRQL_restores_global_
#define _IRQL_restores_global_(x, y)
#endif
#ifndef _IRQL_requires_
#define _IRQL_requires_(x)
#endif
#ifndef _IRQL_requires_min_
#define _IRQL_requires_min_(x)
#endif
#ifndef _IRQL_requires_max_
#define _IRQL_requires_max_(x)
#endif
#ifndef _IRQL_requires_same_
#define _IRQL_requires_same_
#endif
#ifndef _IRQL_raises_
#define _IRQL_raises_(x)
#endif
#ifndef _IRQL_always_function_max_
#define _IRQL_always_function_max_(x)
#endif
#ifndef _IRQL_always_function_min_
#define _IRQL_always_function_min_(x)
#endif
#ifndef _IRQL_is_cancel_
#define _IRQL_is_cancel_
#endif
#ifndef _IRQL_uses_cancel_
#define _IRQL_uses_cancel_
#endif

/* Locks. */

#ifndef _Acquires_lock_
#define _Acquires_lock_(x)
#endif
#ifndef _Releases_lock_
#define _Releases_lock_(x)
#endif
#ifndef _Requires_lock_held_
#define _Requires_lock_held_(x)
#endif
#ifndef _Requires_lock_not_held_
#define _Requires_lock_not_held_(x)
#endif
#ifndef _Requires_no_locks_held_
#define _Requires_no_locks_held_
#endif
#ifndef _Requires_shared_lock_held_
#define _Requires_shared_lock_held_(x)
#endif
#ifndef _Requires_exclusive_lock_held_
#define _Requires_exclusive_lock_held_(x)
#endif
#ifndef _Acquires_shared_lock_
#define _Acquires_shared_lock_(x)
#endif
#ifndef _Releases_shared_lock_
#define _Releases_shared_lock_(x)
#endif
#ifndef _Acquires_exclusive_lock_
#define _Acquires_exclusive_lock_(x)
#endif
#ifndef _Releases_exclusive_lock_
#define _Releases_exclusive_lock_(x)
#endif
#ifndef _Acquires_nonreentrant_lock_
#define _Acquires_nonreentrant_lock_(x)
#endif
#ifndef _Releases_nonreentrant_lock_
#define _Releases_nonreentrant_lock_(x)
#endif
#ifndef _Has_lock_kind_
#define _Has_lock_kind_(x)
#endif
#ifndef _Has_lock_level_
#define _Has_lock_level_(x)
#endif
#ifndef _Create_lock_level_
#define _Create_lock_level_(x)
#endif
#ifndef _Lock_level_order_
#define _Lock_level_order_(x, y)
#endif
#ifndef _Guarded_by_
#define _Guarded_by_(x)
#endif
#ifndef _Write_guarded_by_
#define _Write_guarded_by_(x)
#endif
#ifndef _Post_same_lock_
#define _Post_same_lock_(x, y)
#endif
#ifndef _No_competing_thread_
#define _No_competing_thread_
#endif
#ifndef _No_competing_thread_begin_
#define _No_competing_thread_begin_
#endif
#ifndef _No_competing_thread_end_
#define _No_competing_thread_end_
#endif
#ifndef _Benign_race_begin_
#define _Benign_race_begin_
#endif
#ifndef _Benign_race_end_
#define _Benign_race_end_
#endif

/*
 * The older spelling, still found in drivers. libstdc++ names its variables like this, so a hosted
 * program does not get these; a driver, built with -ffreestanding or as kernel code, does.
 */
#if !defined(__STDC_HOSTED__) || !__STDC_HOSTED__ || defined(_KERNEL_MODE)

#ifndef __in
#define __in
#endif
#ifndef __in_opt
#define __in_opt
#endif
#ifndef __in_z
#define __in_z
#endif
#ifndef __in_opt_z
#define __in_opt_z
#endif
#ifndef __in_ecount
#define __in_ecount(x)
#endif
#ifndef __in_ecount_opt
#define __in_ecount_opt(x)
#endif
#ifndef __in_bcount
#define __in_bcount(x)
#endif
#ifndef __in_bcount_opt
#define __in_bcount_opt(x)
#endif
#ifndef __in_ecount_z
#define __in_ecount_z(x)
#endif
#ifndef __in_range
#define __in_range(x, y)
#endif
#ifndef __out
#define __out
#endif
#ifndef __out_opt
#define __out_opt
#endif
#ifndef __out_ecount
#define __out_ecount(x)
#endif
#ifndef __out_ecount_opt
#define __out_ecount_opt(x)
#endif
#ifndef __out_bcount
#define __out_bcount(x)
#endif
#ifndef __out_bcount_opt
#define __out_bcount_opt(x)
#endif
#ifndef __out_ecount_full
#define __out_ecount_full(x)
#endif
#ifndef __out_bcount_full
#define __out_bcount_full(x)
#endif
#ifndef __out_ecount_part
#define __out_ecount_part(x, y)
#endif
#ifndef __out_bcount_part
#define __out_bcount_part(x, y)
#endif
#ifndef __out_bcount_part_opt
#define __out_bcount_part_opt(x, y)
#endif
#ifndef __out_ecount_part_opt
#define __out_ecount_part_opt(x, y)
#endif
#ifndef __out_ecount_z
#define __out_ecount_z(x)
#endif
#ifndef __out_range
#define __out_range(x, y)
#endif
#ifndef __inout
#define __inout
#endif
#ifndef __inout_opt
#define __inout_opt
#endif
#ifndef __inout_ecount
#define __inout_ecount(x)
#endif
#ifndef __inout_ecount_opt
#define __inout_ecount_opt(x)
#endif
#ifndef __inout_bcount
#define __inout_bcount(x)
#endif
#ifndef __inout_bcount_opt
#define __inout_bcount_opt(x)
#endif
#ifndef __inout_ecount_full
#define __inout_ecount_full(x)
#endif
#ifndef __inout_bcount_full
#define __inout_bcount_full(x)
#endif
#ifndef __inout_ecount_part
#define __inout_ecount_part(x, y)
#endif
#ifndef __inout_bcount_part
#define __inout_bcount_part(x, y)
#endif
#ifndef __inout_z
#define __inout_z
#endif
#ifndef __deref_in
#define __deref_in
#endif
#ifndef __deref_in_opt
#define __deref_in_opt
#endif
#ifndef __deref_out
#define __deref_out
#endif
#ifndef __deref_out_opt
#define __deref_out_opt
#endif
#ifndef __deref_opt_out
#define __deref_opt_out
#endif
#ifndef __deref_opt_out_opt
#define __deref_opt_out_opt
#endif
#ifndef __deref_out_ecount
#define __deref_out_ecount(x)
#endif
#ifndef __deref_out_bcount
#define __deref_out_bcount(x)
#endif
#ifndef __deref_out_ecount_opt
#define __deref_out_ecount_opt(x)
#endif
#ifndef __deref_out_bcount_opt
#define __deref_out_bcount_opt(x)
#endif
#ifndef __deref_inout
#define __deref_inout
#endif
#ifndef __deref_inout_opt
#define __deref_inout_opt
#endif
#ifndef __ecount
#define __ecount(x)
#endif
#ifndef __bcount
#define __bcount(x)
#endif
#ifndef __field_ecount
#define __field_ecount(x)
#endif
#ifndef __field_bcount
#define __field_bcount(x)
#endif
#ifndef __field_ecount_opt
#define __field_ecount_opt(x)
#endif
#ifndef __field_bcount_opt
#define __field_bcount_opt(x)
#endif
#ifndef __field_ecount_full
#define __field_ecount_full(x)
#endif
#ifndef __field_bcount_full
#define __field_bcount_full(x)
#endif
#ifndef __field_ecount_part
#define __field_ecount_part(x, y)
#endif
#ifndef __field_bcount_part
#define __field_bcount_part(x, y)
#endif
#ifndef __field_range
#define __field_range(x, y)
#endif
#ifndef __field_nullterminated
#define __field_nullterminated
#endif
#ifndef __struct_bcount
#define __struct_bcount(x)
#endif
#ifndef __range
#define __range(x, y)
#endif
#ifndef __reserved
#define __reserved
#endif
#ifndef __checkReturn
#define __checkReturn
#endif
#ifndef __success
#define __success(x)
#endif
#ifndef __control_entrypoint
#define __control_entrypoint(x)
#endif
#ifndef __nullterminated
#define __nullterminated
#endif
#ifndef __nullnullterminated
#define __nullnullterminated
#endif
#ifndef __post
#define __post
#endif
#ifndef __pre
#define __pre
#endif
#ifndef __format_string
#define __format_string
#endif
#ifndef __notnull
#define __notnull
#endif
#ifndef __maybenull
#define __maybenull
#endif
#ifndef __typefix
#define __typefix(x)
#endif
#ifndef __analysis_assume
#define __analysis_assume(x)
#endif
#ifndef __fallthrough
#define __fallthrough
#endif

#endif /* !__STDC_HOSTED__ */

#endif /* OPENDXGK_DXGSAL_H */
