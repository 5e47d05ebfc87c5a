// ebb/gdb.cpp — names ebb's printers in a program's debug information, where gdb looks for them: the source of the target ebb::gdb.
// SPDX-License-Identifier: BSL-1.0
#if defined(__ELF__)
asm(".pushsection \".debug_gdb_scripts\", \"MS\", %progbits, 1\n"
    ".byte 1\n"  // the name of a file with Python follows
    ".asciz \"" EBB_GDB_PRINTERS "\"\n"
    ".popsection\n");
#endif
