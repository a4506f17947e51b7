//! git's configuration: all variables of all files and of the command line, in the order in which git reads them.
//!
//! Not gix's reader: which files count, what they include and which values are valid must be as in git, or a repository that is
//! harmless to git could name commands here. Must not read an environment variable by itself; [`sources`] gets them.

mod condition;
pub mod path;
pub mod sources;
pub mod syntax;
pub mod value;

use std::{path::Path, sync::Arc};

use bstr::{BStr, BString, ByteSlice};
use rustc_hash::FxHashMap;

use sluice_base::error::Result;

/// One variable of the configuration.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The full name: the section and the last part in lower case, the subsection as it is written.
    pub key: BString,
    /// `None` if the variable stands without `=`, which means true.
    pub value: Option<BString>,
    /// The file that sets it. `None` for the command line and the environment.
    pub file: Option<Arc<Path>>,
    /// The line of the file, from 1 on.
    pub line: usize,
}

impl Variable {
    /// The subsection and the last part of the name, if the variable is in `section`, given in lower case.
    pub fn in_section(&self, section: &str) -> Option<(Option<&BStr>, &BStr)> {
        let rest = self
            .key
            .strip_prefix(section.as_bytes())?
            .strip_prefix(b".")?;
        Some(match rest.rfind_byte(b'.') {
            Some(dot) => (Some(rest[..dot].as_bstr()), rest[dot + 1..].as_bstr()),
            None => (None, rest.as_bstr()),
        })
    }
}

/// The whole configuration of a run.
#[derive(Clone, Debug, Default)]
pub struct Config {
    variables: Vec<Variable>,
    /// The last variable of each name.
    last: FxHashMap<BString, usize>,
}

impl Config {
    /// Adds `variable` after all others.
    pub fn push(&mut self, variable: Variable) {
        self.last.insert(variable.key.clone(), self.variables.len());
        self.variables.push(variable);
    }

    /// The variable `key` that counts: the last one.
    pub fn variable(&self, key: &str) -> Option<&Variable> {
        let found = self.last.get(&canonical(key.as_bytes()))?;
        Some(&self.variables[*found])
    }

    /// The value of `key` that counts. The inner `None` is a key without a value.
    pub fn value(&self, key: &str) -> Option<Option<&BStr>> {
        let variable = self.variable(key)?;
        Some(variable.value.as_ref().map(|it| it.as_bstr()))
    }

    /// The value of `key` that counts, if it has one.
    pub fn string(&self, key: &str) -> Option<&BStr> {
        self.value(key).flatten()
    }

    /// The boolean `key`, which is true without a value. `None` if the key is not set.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.variable(key).map(Variable::truth).transpose()
    }

    /// Whether `key` is a boolean that is true. An invalid value counts as false.
    pub fn is_true(&self, key: &str) -> bool {
        self.boolean(key).is_ok_and(|value| value == Some(true))
    }

    /// Whether `key` is a boolean that is false. An invalid value counts as true.
    pub fn is_false(&self, key: &str) -> bool {
        self.boolean(key).is_ok_and(|value| value == Some(false))
    }

    /// All variables, in git's order.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter()
    }

    /// The configuration without the variables that `is_kept` refuses.
    pub fn filtered(&self, is_kept: impl Fn(&Variable) -> bool) -> Self {
        let mut filtered = Self::default();
        let kept = self.variables().filter(|variable| is_kept(variable));
        kept.cloned().for_each(|variable| filtered.push(variable));
        filtered
    }

    /// The variables of `section`, given in lower case: subsection, last part of the name, value.
    pub fn section(
        &self,
        section: &str,
    ) -> impl Iterator<Item = (Option<&BStr>, &BStr, Option<&BStr>)> {
        self.variables.iter().filter_map(move |variable| {
            let (subsection, name) = variable.in_section(section)?;
            let value = variable.value.as_ref().map(|it| it.as_bstr());
            Some((subsection, name, value))
        })
    }
}

/// The name of a variable as git compares it: section and last part in lower case.
fn canonical(key: &[u8]) -> BString {
    let mut canonical = key.to_vec();
    let first = key.find_byte(b'.').unwrap_or(key.len());
    let last = key.rfind_byte(b'.').unwrap_or(0);
    canonical[..first].make_ascii_lowercase();
    canonical[last..].make_ascii_lowercase();
    canonical.into()
}

#[cfg(test)]
mod tests {
    use super::{Config, syntax};

    #[test]
    fn the_last_value_counts_and_case_matters_in_subsections_only() {
        let config = Config::of_text("[A \"B.c\"]\nD=1\n[a.B]\nd = 2\n[a]\nd\n[A \"B.c\"]\nd=3\n");
        assert_eq!(config.string("a.B.c.d").unwrap(), "3");
        assert_eq!(config.string("A.B.c.D").unwrap(), "3");
        assert_eq!(config.value("a.b.c.d"), None);
        assert_eq!(config.string("a.b.d").unwrap(), "2");
        assert_eq!(config.value("a.d"), Some(None));
        let all: Vec<_> = config
            .section("a")
            .map(|(sub, name, _)| (sub, name))
            .collect();
        let expected = [
            (Some("B.c"), "d"),
            (Some("b"), "d"),
            (None, "d"),
            (Some("B.c"), "d"),
        ];
        assert_eq!(
            all,
            expected.map(|(sub, name)| (sub.map(Into::into), name.into()))
        );
        assert!(syntax::parse(b"[a]\nb=1\n", None).is_ok());
    }
}
