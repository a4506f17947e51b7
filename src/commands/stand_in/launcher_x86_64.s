// The launcher on x86-64; `launcher.rs` says what it does. Registers: rbx the words, r12 the end of the environment, r13 the
// rest of PATH, r14 the frame, r15 and rbp the start and the length of the directory that has the real git. The frame: a name
// at 0, the attributes of a file at 4352, the device and inode of this file at 4512, the environment at 4528.
    mov rax, [rsp]
    lea rbx, [rsp + 8]
    lea r12, [rbx + rax * 8 + 8]
    sub rsp, 4544
    mov r14, rsp
    mov [r14 + 4528], r12
    test rax, rax
    jz .Lsluice_careful

// Words that need the script.
    lea rbp, [rbx + 8]
.Lsluice_word:
    mov rsi, [rbp]
    test rsi, rsi
    jz .Lsluice_variables
    lea rdi, [rip + .Lsluice_words]
    call .Lsluice_find
    jnz .Lsluice_careful
    add rbp, 8
    jmp .Lsluice_word

// Variables that need the script, and PATH.
.Lsluice_variables:
    xor r13d, r13d
.Lsluice_variable:
    mov rsi, [r12]
    test rsi, rsi
    jz .Lsluice_auxiliary
    lea rdi, [rip + .Lsluice_names]
    call .Lsluice_find
    jnz .Lsluice_careful
    test r13, r13
    jnz .Lsluice_next_variable
    lea rdi, [rip + .Lsluice_path]
    call .Lsluice_find
    mov r13, rax
.Lsluice_next_variable:
    add r12, 8
    jmp .Lsluice_variable

// The name that started this file: AT_EXECFN.
.Lsluice_auxiliary:
    lea rbp, [r12 + 8]
.Lsluice_next_auxiliary:
    mov rax, [rbp]
    test rax, rax
    jz .Lsluice_careful
    mov rsi, [rbp + 8]
    add rbp, 16
    cmp rax, 31
    jne .Lsluice_next_auxiliary
    call .Lsluice_stat
    jnz .Lsluice_careful
    movups xmm0, [r14 + 4352]
    movups [r14 + 4512], xmm0

// The first git in PATH after the last one that is this file.
    test r13, r13
    jz .Lsluice_careful
    xor r15d, r15d
.Lsluice_directory:
    mov r8, r13
.Lsluice_character:
    mov al, [r13]
    test al, al
    jz .Lsluice_candidate
    cmp al, 58 // a colon
    je .Lsluice_candidate
    inc r13
    jmp .Lsluice_character
.Lsluice_candidate:
    mov r9, r13
    sub r9, r8
    jz .Lsluice_careful
    cmp r9, 4096
    ja .Lsluice_careful
    mov rsi, r8
    mov rcx, r9
    call .Lsluice_name
    mov rsi, r14
    call .Lsluice_stat
    jnz .Lsluice_next_directory
    mov rax, [r14 + 4352]
    mov rdx, [r14 + 4360]
    cmp rax, [r14 + 4512]
    jne .Lsluice_other
    cmp rdx, [r14 + 4520]
    jne .Lsluice_other
    xor r15d, r15d
    jmp .Lsluice_next_directory
.Lsluice_other:
    test r15, r15
    jnz .Lsluice_next_directory
    mov eax, [r14 + 4376]
    and eax, 0xf000
    cmp eax, 0x8000
    jne .Lsluice_next_directory
    mov eax, 269 // faccessat
    mov rdi, -100
    mov rsi, r14
    mov edx, 1
    syscall
    test eax, eax
    jnz .Lsluice_next_directory
    mov r15, r8
    mov rbp, r9
.Lsluice_next_directory:
    cmp byte ptr [r13], 0
    je .Lsluice_start
    inc r13
    jmp .Lsluice_directory

// The new variable takes the place of the end of the environment. Nothing reads the values after it any more.
.Lsluice_start:
    mov rsi, r15
    test rsi, rsi
    jz .Lsluice_careful
    mov rcx, rbp
    call .Lsluice_name
    mov [rbx], r14
    lea rax, [rip + .Lsluice_caller]
    mov [r12], rax
    mov qword ptr [r12 + 8], 0
    mov rdi, r14
    call .Lsluice_execve

// The script next to this file, wherever it was moved, or where it was written.
.Lsluice_careful:
    mov eax, 267 // readlinkat
    mov rdi, -100
    lea rsi, [rip + .Lsluice_self]
    mov rdx, r14
    mov r10d, 4096
    syscall
    lea rdi, [r14 + rax]
.Lsluice_last_slash:
    cmp rdi, r14
    jbe .Lsluice_as_written
    dec rdi
    cmp byte ptr [rdi], 47 // a slash
    jne .Lsluice_last_slash
    lea rsi, [rip + .Lsluice_script]
    mov ecx, 19
    rep movsb
    mov rdi, r14
    call .Lsluice_execve
.Lsluice_as_written:
    lea rdi, [rip + .Lsluice_end]
    call .Lsluice_execve
    mov eax, 1 // write
    mov edi, 2
    lea rsi, [rip + .Lsluice_message]
    lea rdx, [rip + .Lsluice_words]
    sub rdx, rsi
    syscall
    mov eax, 231 // exit_group
    mov edi, 128
    syscall

// Searches the text in rsi for a start that the table in rdi has. Returns the rest of the text in rax, or 0 and the flag Z.
.Lsluice_find:
    movzx ecx, byte ptr [rdi]
    inc rdi
    xor eax, eax
    test ecx, ecx
    jz .Lsluice_found
    lea rdx, [rdi + rcx]
    mov rax, rsi
.Lsluice_compare:
    mov cl, [rax]
    cmp cl, [rdi]
    jne .Lsluice_next_entry
    inc rax
    inc rdi
    cmp rdi, rdx
    jne .Lsluice_compare
.Lsluice_found:
    test rax, rax
    ret
.Lsluice_next_entry:
    mov rdi, rdx
    jmp .Lsluice_find

// Writes the name of the git in a directory of rcx bytes in rsi.
.Lsluice_name:
    mov rdi, r14
    rep movsb
    mov dword ptr [rdi], 0x7469672f // "/git"
    mov byte ptr [rdi + 4], 0
    ret

// Reads the attributes of the file rsi. The flag Z says that there is one.
.Lsluice_stat:
    mov eax, 262 // newfstatat
    mov rdi, -100
    lea rdx, [r14 + 4352]
    xor r10d, r10d
    syscall
    test eax, eax
    ret

// Becomes the program rdi, and returns if it cannot.
.Lsluice_execve:
    mov eax, 59 // execve
    mov rsi, rbx
    mov rdx, [r14 + 4528]
    syscall
    ret
