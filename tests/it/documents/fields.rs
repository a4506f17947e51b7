//! The fields of all JSON that the program writes, as one page: `schema/README.md`, made of the schemas.

use std::fmt::Write;

use serde_json::Value;

use super::{read, root};

/// The schemas in the order of the page.
const SCHEMAS: [&str; 10] = [
    "manifest",
    "summary",
    "info",
    "explain",
    "missing",
    "compare",
    "verify",
    "published",
    "pruned",
    "channel",
];

const HEAD: &str = "\
# Fields of JSON reports

A test makes this page of the schemas beside it. [JSON reports](../docs/json.md) has examples. A field without *optional* is
always there.
";

#[test]
fn the_page_of_fields_is_that_of_the_schemas() {
    let mut page = HEAD.to_owned();
    for name in SCHEMAS {
        let file = format!("schema/{name}.schema.json");
        let schema: Value = serde_json::from_str(&read(&root().join(&file))).expect("JSON");
        let (title, text) = (text(&schema, "title"), text(&schema, "description"));
        write!(
            page,
            "\n## {title}\n\n{text} [Schema]({name}.schema.json).\n"
        )
        .expect("in memory");
        tables(&mut page, &schema);
    }
    super::assert_same_file("schema/README.md", &page);
}

/// A table for the object, or one for each kind of line.
fn tables(page: &mut String, schema: &Value) {
    if schema.get("properties").is_some() {
        return table(page, schema, schema);
    }
    for line in schema["oneOf"].as_array().expect("kinds of lines") {
        let name = line["$ref"].as_str().expect("a definition");
        let line = resolved(line, schema);
        let text = text(line, "description");
        write!(page, "\n### {}\n\n{text}\n", &name["#/$defs/".len()..]).expect("in memory");
        table(page, line, schema);
    }
}

fn table(page: &mut String, object: &Value, schema: &Value) {
    *page += "\n| field | type | |\n|---|---|---|\n";
    rows(page, "", object, schema);
}

/// A row for each field of `object`, those of its objects after it.
fn rows(page: &mut String, above: &str, object: &Value, schema: &Value) {
    let required = object["required"].as_array();
    for (name, field) in object["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|it| it.iter().any(|it| it == name));
        let optional = if is_required { "" } else { ", *optional*" };
        let value = resolved(field, schema);
        let kind = kind(value);
        let meaning = field.get("description").map_or_else(
            || text(value, "description"),
            |it| it.as_str().expect("text"),
        );
        let meaning = meaning.replace('|', "\\|").replace('<', "&lt;");
        writeln!(page, "| `{above}{name}` | {kind}{optional} | {meaning} |").expect("in memory");
        rows(page, &format!("{above}{name}."), value, schema);
        rows(
            page,
            &format!("{above}{name}[]."),
            resolved(&value["items"], schema),
            schema,
        );
    }
}

/// The type of a value, or the only value.
fn kind(value: &Value) -> String {
    if let Some(only) = value.get("const") {
        return only.to_string();
    }
    if value.get("enum").is_some() {
        return "string".to_owned();
    }
    match &value["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            let names: Vec<_> = several.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => "value".to_owned(),
    }
}

/// What a value refers to, or the value itself.
fn resolved<'a>(value: &'a Value, schema: &'a Value) -> &'a Value {
    let place = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    place.map_or(value, |it| schema.pointer(it).expect("a definition"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field}: {value}"))
}
