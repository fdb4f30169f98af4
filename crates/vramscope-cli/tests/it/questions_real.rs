//! Every question on every real snapshot there is: an answer, or a failure that says why; never a panic.

use std::path::PathBuf;

use serde_json::Value;

use crate::program::vramscope;

#[test]
fn real_files_are_answered() {
    let Some(folder) = std::env::var_os("VRAMSCOPE_SHARED") else {
        return;
    };
    for entry in std::fs::read_dir(PathBuf::from(folder).join("real")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "pickle")
        {
            continue;
        }
        let file = path.to_str().unwrap();
        let json = |arguments: &[&str]| -> Value {
            let output = vramscope(&[arguments, &[file, "--json"]].concat());
            assert!(output.status.success(), "{arguments:?} {file}");
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let (peak, at) = (json(&["peak"]), json(&["at", "peak"]));
        let (range, top) = (json(&["range", "all"]), json(&["top"]));
        let (leaks, find) = (json(&["leaks"]), json(&["find", "live@peak"]));
        for (place, part) in peak["parts"].as_array().unwrap().iter().enumerate() {
            let of = |answer: &Value| answer["parts"][place].clone();
            let sum = |rows: &Value, key: &str| -> u64 {
                let rows = rows.as_array().unwrap().iter();
                rows.map(|row| row[key].as_u64().unwrap()).sum()
            };
            assert_eq!(part["peak_bytes"], of(&at)["active_bytes"], "{file}");
            assert_eq!(part["peak_bytes"], of(&find)["bytes"], "{file}");
            assert_eq!(part["peak_bytes"], of(&range)["peak_bytes"], "{file}");
            let groups = &of(&top)["groups"];
            assert_eq!(
                part["peak_bytes"],
                sum(groups, "at_device_peak_bytes"),
                "{file}"
            );
            let net = of(&range)["after_bytes"].as_i64().unwrap()
                - of(&range)["before_bytes"].as_i64().unwrap();
            let rows = of(&range)["groups"].clone();
            let changes = rows.as_array().unwrap().iter();
            let changes: i64 = changes.map(|row| row["net_bytes"].as_i64().unwrap()).sum();
            assert_eq!(net, changes, "{file}");
            assert!(of(&leaks)["notes"].is_array());
        }
    }
}
