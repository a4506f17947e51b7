.Lsluice_message:
    .ascii "fatal: cannot start the script of git-sluice's stand-in\nhint: run 'git-sluice stand-in <directory>' again\n"
// Tables: the length of an entry, then its bytes. A 0 ends a table.
.Lsluice_words:
    .byte 8
    .ascii "archive\0"
    .byte 15
    .ascii "upload-archive\0"
    .byte 7
    .ascii "sluice\0"
    .byte 7
    .ascii "daemon\0"
    .byte 13
    .ascii "http-backend\0"
    .byte 6
    .ascii "shell\0"
    .byte 0
.Lsluice_names:
    .byte 20
    .ascii "GIT_SLUICE_STAND_IN="
    .byte 9
    .ascii "REAL_GIT="
    .byte 0
.Lsluice_path:
    .byte 5
    .ascii "PATH="
    .byte 0
.Lsluice_caller:
    .asciz "GIT_SLUICE_STAND_IN=1:"
.Lsluice_self:
    .asciz "/proc/self/exe"
.Lsluice_git:
    .asciz "/git"
.Lsluice_script:
    .asciz "/git-sluice-script"
// The path of the script follows.
.Lsluice_end:
