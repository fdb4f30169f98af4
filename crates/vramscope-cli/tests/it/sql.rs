//! `vramscope sql` without its engine: the description of the tables, and the message that this build lacks the engine.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

#[test]
fn the_tables_are_described() {
    assert_snapshot!(transcript(&vramscope(&["sql", "--tables"])));
    let json = vramscope(&["sql", "--tables", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let tables = json["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 11);
    let column = |table: &serde_json::Value| table["columns"][0]["name"] == "rank";
    assert!(tables.iter().all(column));
}

#[cfg(not(feature = "sql"))]
#[test]
fn a_build_without_the_engine_says_so() {
    let output = vramscope(&["sql", "select 1", "torch-2.15.0/training.pickle"]);
    assert_eq!(output.status.code(), Some(2));
    let said = transcript(&output);
    assert!(said.contains("this build has no SQL engine"), "{said}");
    assert!(
        said.contains("\nduckdb <<'SQL'\nselect 1;\nSQL\n"),
        "{said}"
    );
}
