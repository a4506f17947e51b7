//! As much of JSON Schema as our own schemas use. A keyword that is not known here is a failure, so
//! nothing in them goes unchecked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

/// A schema of `schema/`.
pub(crate) struct Schema {
    root: Value,
}

impl Schema {
    pub(crate) fn read(name: &str) -> Schema {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schema/{name}.schema.json"));
        let text = fs::read_to_string(path).expect("a schema of ours");
        Schema {
            root: serde_json::from_str(&text).expect("a schema is JSON"),
        }
    }

    /// `value` is as the schema says.
    #[track_caller]
    pub(crate) fn accept(&self, value: &Value) {
        if let Err(reason) = self.check(&self.root, value) {
            panic!("{reason}\n{value:#}");
        }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.check(&self.root, value).is_ok()
    }

    /// The names of all properties, each with what is above it: `seconds.wall`.
    pub(crate) fn properties(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.collect(&self.root, "", &mut found);
        found
    }

    /// What a property of a definition may be.
    pub(crate) fn choices(&self, definition: &str, property: &str) -> BTreeSet<String> {
        let choices = &self.root["$defs"][definition]["properties"][property]["enum"];
        items(choices)
            .filter_map(|choice| Some(choice.as_str()?.to_owned()))
            .collect()
    }

    fn collect(&self, schema: &Value, above: &str, found: &mut BTreeSet<String>) {
        let schema = self.resolved(schema);
        for alternative in items(&schema["oneOf"]) {
            self.collect(alternative, above, found);
        }
        for (name, property) in fields(&schema["properties"]) {
            let name = format!("{above}{name}");
            self.collect(property, &format!("{name}."), found);
            found.insert(name);
        }
    }

    /// What is behind a reference, if it is one.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(target) => {
                let pointer = target
                    .strip_prefix('#')
                    .expect("references are to ourselves");
                self.root
                    .pointer(pointer)
                    .expect("what is referred to exists")
            }
            None => schema,
        }
    }

    fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        for (keyword, rule) in fields(schema) {
            let holds = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "contentEncoding" => true,
                // With `if`.
                "then" | "else" => true,
                "$ref" => self.check(self.resolved(schema), value).map(|()| true)?,
                "type" if rule.is_array() => {
                    items(rule).any(|name| is_of_type(value, name.as_str().expect("a type")))
                }
                "type" => is_of_type(value, rule.as_str().expect("one type")),
                "const" => value == rule,
                "enum" => items(rule).any(|choice| choice == value),
                "minimum" => value.is_null() || value.as_f64() >= rule.as_f64(),
                "minLength" => value.as_str().map(str::len) >= rule.as_u64().map(|n| n as usize),
                "pattern" => {
                    let pattern = Regex::new(rule.as_str().expect("text"));
                    let pattern = pattern.expect("a regular expression");
                    value.as_str().is_none_or(|text| pattern.is_match(text))
                }
                "required" => {
                    items(rule).all(|name| value.get(name.as_str().expect("a name")).is_some())
                }
                "not" => self.check(rule, value).is_err(),
                "oneOf" => {
                    let matching = |choice: &&Value| self.check(choice, value).is_ok();
                    items(rule).filter(matching).count() == 1
                }
                "if" => {
                    let branch = match self.check(rule, value) {
                        Ok(()) => "then",
                        Err(_) => "else",
                    };
                    self.check(&schema[branch], value).map(|()| true)?
                }
                "items" => {
                    for item in items(value) {
                        self.check(rule, item)?;
                    }
                    true
                }
                "properties" => {
                    for (name, property) in fields(rule) {
                        if let Some(value) = value.get(name) {
                            self.check(property, value)
                                .map_err(|reason| format!("{name}: {reason}"))?;
                        }
                    }
                    true
                }
                unknown => panic!("the keyword {unknown} cannot be checked"),
            };
            if !holds {
                return Err(format!("against {keyword} {rule}"));
            }
        }
        Ok(())
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        unknown => panic!("the type {unknown} cannot be checked"),
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
