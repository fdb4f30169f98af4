//! Everything that our decoder reads, read again by independent readers.

use vramscope_synth::files::{all_files, fixtures_in};

use crate::compare::assert_same;
use crate::naive;
use crate::support::decoded;

/// These contain values of wrong types on purpose; `fixtures` tests how they are handled.
const ODD: &[&str] = &["legacy/tolerant.pickle"];

#[test]
fn a_naive_reader_agrees_on_every_pickle() {
    let mut compared = 0;
    for file in all_files()
        .iter()
        .filter(|file| file.is_plain_pickle() && !ODD.contains(&&*file.name))
    {
        assert_same(&file.name, &naive::read(&file.bytes), &decoded(file));
        compared += 1;
    }
    assert!(compared > 40, "only {compared} files");
}

#[test]
fn serde_json_agrees_on_json() {
    for name in ["snapshot.json", "indented.json"] {
        let files = fixtures_in("containers");
        let file = files.iter().find(|file| file.name.ends_with(name)).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&file.bytes).unwrap();
        assert_same(&file.name, &naive::from_json(&json), &decoded(file));
    }
}

/// serde-pickle reads no file with a shared value inside a shared value. So it is compared where it can read, and the
/// number of those files is part of the test.
#[test]
fn serde_pickle_agrees_where_it_can_read() {
    let options = serde_pickle::DeOptions::new()
        .replace_unresolved_globals()
        .replace_recursive_structures();
    let mut compared = 0;
    for file in all_files()
        .iter()
        .filter(|file| file.is_plain_pickle() && !ODD.contains(&&*file.name))
    {
        // Without the replacing option a file with nested sharing is an error, which is all we want to know.
        if serde_pickle::value_from_slice(&file.bytes, serde_pickle::DeOptions::new()).is_err() {
            continue;
        }
        let Ok(value) = serde_pickle::value_from_slice(&file.bytes, options.clone()) else {
            continue;
        };
        let Some(json) = to_json(&value) else {
            continue;
        };
        assert_same(&file.name, &naive::from_json(&json), &decoded(file));
        compared += 1;
    }
    println!("serde-pickle could read {compared} files");
    assert!(compared >= 8, "only {compared} files");
}

/// `None` for values that JSON cannot represent.
fn to_json(value: &serde_pickle::Value) -> Option<serde_json::Value> {
    use serde_json::Value as Json;
    use serde_pickle::Value as Pickle;
    Some(match value {
        Pickle::None => Json::Null,
        Pickle::Bool(truth) => Json::Bool(*truth),
        Pickle::I64(number) => Json::from(*number),
        Pickle::Int(number) => Json::from(number.to_string().parse::<u64>().ok()?),
        Pickle::F64(number) => Json::from(*number),
        Pickle::String(text) => Json::from(text.as_str()),
        Pickle::List(items) | Pickle::Tuple(items) => {
            Json::Array(items.iter().map(to_json).collect::<Option<_>>()?)
        }
        Pickle::Dict(entries) => {
            let mut object = serde_json::Map::new();
            for (key, value) in entries {
                let serde_pickle::HashableValue::String(key) = key else {
                    return None;
                };
                object.insert(key.clone(), to_json(value)?);
            }
            Json::Object(object)
        }
        _ => return None,
    })
}
