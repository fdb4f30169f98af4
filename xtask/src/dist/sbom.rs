//! The components of an artefact in CycloneDX's format (JSON, version 1.6), for tools that look for known
//! vulnerabilities or licences. Without a time or a random number: the same sources give the same file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::inside::Component;

/// Writes the list for an artefact; its name is the file's.
pub(super) fn write(components: &[Component], to: &Path) -> Result<()> {
    let name = to.file_name().context("a list has a name")?;
    let name = name.to_string_lossy();
    let name = name.trim_end_matches(".cdx.json");
    let text = serde_json::to_string_pretty(&list(name, components))?;
    fs::write(to, text + "\n").with_context(|| format!("cannot write {}", to.display()))
}

fn list(name: &str, components: &[Component]) -> Value {
    let ids = || components.iter().map(|it| it.id.as_str());
    // Components that no other component uses are used by the artefact itself.
    let is_used = |id: &str| components.iter().any(|it| it.uses.contains(id));
    let first: Vec<_> = ids().filter(|id| !is_used(id)).collect();
    let mut uses = vec![json!({"ref": name, "dependsOn": first})];
    uses.extend(
        components
            .iter()
            .map(|it| json!({"ref": it.id, "dependsOn": it.uses})),
    );
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": name,
            "name": name,
            "version": env!("CARGO_PKG_VERSION"),
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": components.iter().map(entry).collect::<Vec<_>>(),
        "dependencies": uses,
    })
}

fn entry(it: &Component) -> Value {
    json!({
        "type": "library",
        "bom-ref": it.id,
        "name": it.name,
        "version": it.version,
        "purl": it.id,
        "licenses": [{"expression": it.licence}],
        "externalReferences": [{"type": "distribution", "url": it.address}],
    })
}
