// The launcher on 64-bit ARM; `launcher.rs` says what it does. Registers: x19 the words, x20 the end of the environment, x21 the
// rest of PATH, x22 the environment, x23 and x24 the device and inode of this file, x25 and x26 the start and the length of the
// directory that has the real git. The stack: a name at 0, the attributes of a file at 4352.
    ldr x0, [sp]
    add x19, sp, #8
    add x20, x19, x0, lsl #3
    add x20, x20, #8
    mov x22, x20
    sub sp, sp, #4096
    sub sp, sp, #512
    cbz x0, .Lsluice_careful

// Words that need the script.
    add x27, x19, #8
.Lsluice_word:
    ldr x0, [x27], #8
    cbz x0, .Lsluice_variables
    adr x1, .Lsluice_words
    bl .Lsluice_find
    cbnz x2, .Lsluice_careful
    b .Lsluice_word

// Variables that need the script, and PATH.
.Lsluice_variables:
    mov x21, #0
.Lsluice_variable:
    ldr x0, [x20]
    cbz x0, .Lsluice_auxiliary
    adr x1, .Lsluice_names
    bl .Lsluice_find
    cbnz x2, .Lsluice_careful
    cbnz x21, .Lsluice_next_variable
    adr x1, .Lsluice_path
    bl .Lsluice_find
    mov x21, x2
.Lsluice_next_variable:
    add x20, x20, #8
    b .Lsluice_variable

// The name that started this file: AT_EXECFN.
.Lsluice_auxiliary:
    add x27, x20, #8
.Lsluice_next_auxiliary:
    ldp x0, x1, [x27], #16
    cbz x0, .Lsluice_careful
    cmp x0, #31
    b.ne .Lsluice_next_auxiliary
    bl .Lsluice_stat
    cbnz x0, .Lsluice_careful
    mov x23, x2
    mov x24, x3

// The first git in PATH after the last one that is this file.
    cbz x21, .Lsluice_careful
    mov x25, #0
.Lsluice_directory:
    mov x27, x21
.Lsluice_character:
    ldrb w0, [x21]
    cbz w0, .Lsluice_candidate
    cmp w0, #58 // a colon
    b.eq .Lsluice_candidate
    add x21, x21, #1
    b .Lsluice_character
.Lsluice_candidate:
    subs x28, x21, x27
    b.eq .Lsluice_careful
    cmp x28, #4096
    b.hi .Lsluice_careful
    mov x0, x27
    mov x1, x28
    bl .Lsluice_name
    mov x1, sp
    bl .Lsluice_stat
    cbnz x0, .Lsluice_next_directory
    cmp x2, x23
    ccmp x3, x24, #0, eq
    b.ne .Lsluice_other
    mov x25, #0
    b .Lsluice_next_directory
.Lsluice_other:
    cbnz x25, .Lsluice_next_directory
    and w4, w4, #0xf000
    cmp w4, #0x8000
    b.ne .Lsluice_next_directory
    mov x8, #48 // faccessat
    mov x0, #-100
    mov x1, sp
    mov x2, #1
    svc #0
    cbnz x0, .Lsluice_next_directory
    mov x25, x27
    mov x26, x28
.Lsluice_next_directory:
    ldrb w0, [x21]
    cbz w0, .Lsluice_start
    add x21, x21, #1
    b .Lsluice_directory

// The new variable takes the place of the end of the environment. Nothing reads the values after it any more.
.Lsluice_start:
    cbz x25, .Lsluice_careful
    mov x0, x25
    mov x1, x26
    bl .Lsluice_name
    mov x0, sp
    str x0, [x19]
    adr x1, .Lsluice_caller
    stp x1, xzr, [x20]
    bl .Lsluice_execve

// The script next to this file, wherever it was moved, or where it was written.
.Lsluice_careful:
    mov x8, #78 // readlinkat
    mov x0, #-100
    adr x1, .Lsluice_self
    mov x2, sp
    mov x3, #4096
    svc #0
    mov x4, sp
    adds x0, x4, x0
.Lsluice_last_slash:
    cmp x0, x4
    b.ls .Lsluice_as_written
    ldrb w1, [x0, #-1]!
    cmp w1, #47 // a slash
    b.ne .Lsluice_last_slash
    adr x1, .Lsluice_script
.Lsluice_copy_script:
    ldrb w2, [x1], #1
    strb w2, [x0], #1
    cbnz w2, .Lsluice_copy_script
    mov x0, sp
    bl .Lsluice_execve
.Lsluice_as_written:
    adr x0, .Lsluice_end
    bl .Lsluice_execve
    mov x8, #64 // write
    mov x0, #2
    adr x1, .Lsluice_message
    adr x2, .Lsluice_words
    sub x2, x2, x1
    svc #0
    mov x8, #94 // exit_group
    mov x0, #128
    svc #0

// Searches the text in x0 for a start that the table in x1 has. Returns the rest of the text in x2, or 0.
.Lsluice_find:
    ldrb w3, [x1], #1
    mov x2, #0
    cbz w3, .Lsluice_found
    add x3, x1, x3
    mov x2, x0
.Lsluice_compare:
    ldrb w4, [x2], #1
    ldrb w5, [x1], #1
    cmp w4, w5
    b.ne .Lsluice_next_entry
    cmp x1, x3
    b.ne .Lsluice_compare
.Lsluice_found:
    ret
.Lsluice_next_entry:
    mov x1, x3
    b .Lsluice_find

// Writes the name of the git in a directory of x1 bytes in x0.
.Lsluice_name:
    mov x2, sp
.Lsluice_copy_directory:
    ldrb w3, [x0], #1
    strb w3, [x2], #1
    subs x1, x1, #1
    b.ne .Lsluice_copy_directory
    adr x0, .Lsluice_git
.Lsluice_copy_git:
    ldrb w3, [x0], #1
    strb w3, [x2], #1
    cbnz w3, .Lsluice_copy_git
    ret

// Reads the attributes of the file x1: 0 in x0, its device in x2, its inode in x3, its mode in w4.
.Lsluice_stat:
    mov x8, #79 // newfstatat
    mov x0, #-100
    add x2, sp, #4096
    add x2, x2, #256
    mov x9, x2
    mov x3, #0
    svc #0
    ldp x2, x3, [x9]
    ldr w4, [x9, #16]
    ret

// Becomes the program x0, and returns if it cannot.
.Lsluice_execve:
    mov x8, #221 // execve
    mov x1, x19
    mov x2, x22
    svc #0
    ret
