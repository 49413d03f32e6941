//! The JSON Schema of the report, made from its types.

use super::model::Report;

/// The schema as one document, the content of `schema/report.schema.json`.
#[must_use]
pub fn report() -> String {
    let schema = schemars::schema_for!(Report);
    let mut text =
        serde_json::to_string_pretty(&schema).expect("a schema holds no map with keys that are not text");
    text.push('\n');
    text
}
