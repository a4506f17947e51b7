//! What text is made of: words for names, and one grammar of line patterns for each kind of text.
//!
//! In a pattern `@` stands for an identifier, `~` for one in capitals and `^` for a number.

use std::sync::LazyLock;

/// Words for identifiers, file names and directories.
pub(super) static ROOTS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("roots.txt").split_whitespace().collect());

/// How text of one kind is put together: a header once, then blocks of an opening, some lines and
/// a closing.
pub(super) struct Grammar {
    pub(super) headers: &'static [&'static str],
    pub(super) openings: &'static [&'static str],
    pub(super) lines: &'static [&'static str],
    pub(super) closings: &'static [&'static str],
    /// A block has from one to this many lines between opening and closing.
    pub(super) max_lines: u64,
}

pub(super) const CODE: Grammar = Grammar {
    headers: &[
        "// SPDX-License-Identifier: GPL-2.0+\n/*\n * (C) Copyright 20^\n * @ @, @ Ltd, \
         @@example.com\n */\n\n#include <common.h>\n#include <@.h>\n#include <@/@.h>\n\
         #include <linux/@.h>\n\n",
        "/*\n * Copyright (c) 20^ The @ Authors. All rights reserved.\n *\n * Redistribution and \
         use in source and binary forms, with or without\n * modification, are permitted provided \
         that the following conditions\n * are met:\n * 1. Redistributions of source code must \
         retain the above copyright\n *    notice, this list of conditions and the following \
         disclaimer.\n * 2. Redistributions in binary form must reproduce the above copyright\n \
         *    notice, this list of conditions and the following disclaimer in the\n *    \
         documentation and/or other materials provided with the distribution.\n */\n\n\
         #include \"@.h\"\n#include \"@_@.h\"\n\n",
        "// SPDX-License-Identifier: MIT\n\n#include <@.h>\n#include <@.h>\n\n#define ~ ^\n\n",
    ],
    openings: &[
        "static int @(struct @ *@, u32 @)\n{\n\tint ret;\n\n",
        "static int @(struct udevice *dev, struct @ *@)\n{\n\tstruct @ *priv = dev_get_priv(dev);\n\
         \tint i, ret;\n\n",
        "void @(struct @ *@)\n{\n",
        "/**\n * @() - @ the @ of a @\n * @: the @ to @\n *\n * Return: 0 if OK, -ve on error\n \
         */\nint @(const struct @ *@, unsigned long @)\n{\n\tint ret = 0;\n\n",
        "static const struct @ @[] = {\n",
    ],
    lines: &[
        "\tif (!@->@)\n\t\treturn -EINVAL;\n\n",
        "\tret = @(@, ^);\n\tif (ret)\n\t\treturn ret;\n\n",
        "\tret = @(@, &@->@);\n\tif (ret < 0) {\n\t\tdev_err(dev, \"@ @ failed: %d\\n\", ret);\n\
         \t\tgoto out;\n\t}\n\n",
        "\t@->@ = @;\n",
        "\t@->@ = @->@ + ^;\n",
        "\t@ |= ~ << ^;\n",
        "\twritel(~ | @, &@->@);\n",
        "\tclrsetbits_le32(&@->@, ~, ~);\n",
        "\tfor (i = 0; i < @->@; i++)\n\t\t@[i] = @(@, i);\n\n",
        "\twhile (@ < @->@) {\n\t\t@ = @->@[^];\n\t\tif (@ == ~)\n\t\t\tbreak;\n\t\t@++;\n\t}\n\n",
        "\t/* @ the @ before the @ is @ */\n",
        "\tdebug(\"%s: @=%x, @=%u\\n\", __func__, @, @->@);\n",
        "\tmemset(@, '\\0', sizeof(*@));\n",
        "\tswitch (@->@) {\n\tcase ~:\n\t\t@ = ^;\n\t\tbreak;\n\tcase ~:\n\t\t@ = @(@);\n\
         \t\tbreak;\n\tdefault:\n\t\treturn -ENOSYS;\n\t}\n\n",
    ],
    closings: &[
        "\n\treturn 0;\n}\n\n",
        "\n\treturn ret;\n}\n\n",
        "\nout:\n\t@(@);\n\n\treturn ret;\n}\n\n",
        "};\n\n",
    ],
    max_lines: 12,
};

pub(super) const SCRIPT: Grammar = Grammar {
    headers: &["#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0+\n#\n# @ the @ @.\n\nset -e\n\n"],
    openings: &[
        "@() {\n",
        "for @ in \"$@\"; do\n",
        "# @ the @ and @ it\nif [ -n \"$@\" ]; then\n",
    ],
    lines: &[
        "    @=$(@ --@=\"$@\" | sed -e 's/@/@/')\n",
        "    echo \"@: @ $@\" >&2\n",
        "    test -f \"$@/@\" || return ^\n",
        "    @ --@ --@=^ \"$@\"\n",
        "    export ~=\"$@\"\n",
    ],
    closings: &["}\n\n", "done\n\n", "fi\n\n"],
    max_lines: 8,
};

pub(super) const BUILD: Grammar = Grammar {
    headers: &["# SPDX-License-Identifier: GPL-2.0+\n#\n# (C) Copyright 20^\n# @ @, @ Ltd.\n\n"],
    openings: &[
        "",
        "config ~\n\tbool \"Enable @ @\"\n\tdepends on ~\n\thelp\n",
        "ifdef CONFIG_~\n",
    ],
    lines: &[
        "obj-$(CONFIG_~) += @.o\n",
        "obj-y += @.o\n",
        "obj-$(CONFIG_$(SPL_TPL_)~) += @/\n",
        "\t  This enables the @ @ for the @ of @.\n",
        "ccflags-y += -D~=^\n",
    ],
    closings: &["\n", "endif\n\n"],
    max_lines: 8,
};

pub(super) const PROSE: Grammar = Grammar {
    headers: &[".. SPDX-License-Identifier: GPL-2.0+\n\n@ @\n==========\n\n"],
    openings: &["", "@ the @\n----------\n\n", "* "],
    lines: &[
        "The @ of the @ is set by the @ before a @ can be used. ",
        "When @ is not found, the @ @ is taken,\nand ^ @ are written to `@`.\n",
        "See `@` for how to @ a @ without a @;\nit is the same for each @.\n",
        "    @ --@=^ @\n\n",
        "It does not @ the @, but a @ may do so later. ",
    ],
    closings: &["\n\n"],
    max_lines: 8,
};

pub(super) const TABLE: Grammar = Grammar {
    headers: &["# generated by @ from @, do not edit\n"],
    openings: &["@ {\n\tcompatible = \"@,@\";\n\treg = <0x^ 0x^>;\n"],
    lines: &[
        "\t@ = <&@ ^ ~>;\n",
        "\t@ = <0x^ 0x^ 0x^ 0x^>;\n",
        "\t@-names = \"@\", \"@\";\n",
        "\tstatus = \"okay\";\n",
    ],
    closings: &["};\n\n"],
    max_lines: 10,
};

pub(super) const TINY: Grammar = Grammar {
    headers: &[""],
    openings: &["@ ^.^.^\n", "^\n", "@\n"],
    lines: &[""],
    closings: &[""],
    max_lines: 1,
};
