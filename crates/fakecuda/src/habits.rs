//! The habits of the driver: everything that CUDA's documentation leaves open, or that could be otherwise. They stand in
//! `habits.json`, each with its basis:
//!
//! - `documented`: by NVIDIA; `observed`: by others on a real driver; `guessed`: until `tests/gpu` asks one.
//!
//! `tests/gpu` asks any driver for each of them (`steps/habits.py`) and lists what differs. A file with what it found
//! (`FAKECUDA_HABITS`) makes this driver behave like that one, except for the habits that are marked as `fixed`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

const KNOWN: &str = include_str!("../habits.json");

macro_rules! habits {
    ($($name:ident)*) => {
        /// The values, as in `habits.json`. Codes are those of `CUresult`, answers 0 or 1.
        #[derive(Debug)]
        pub(crate) struct Habits { $( pub(crate) $name: u64, )* }

        impl Habits {
            fn of(mut value: impl FnMut(&str) -> u64) -> Self {
                Self { $( $name: value(stringify!($name)), )* }
            }
        }
    };
}

habits! {
    shared_page_below_bytes pool_chunk_bytes pool_context_is_null pool_mapping_is_chunk trims_at_synchronise
    trims_at_query pool_memory_outlives_context code_alloc_of_0 code_alloc_async_of_0 code_free_async_of_plain
    code_free_of_pooled code_map_with_offset graph_memory_stays code_map_of_part code_unmap_of_two
}

/// The habits of this process's driver.
pub(crate) fn habits() -> &'static Habits {
    static HABITS: OnceLock<Habits> = OnceLock::new();
    HABITS.get_or_init(|| {
        let mut values = values_of(KNOWN);
        if let Some(path) = std::env::var_os("FAKECUDA_HABITS") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            values.extend(values_of(&text));
        }
        Habits::of(|name| values.get(name).copied().unwrap_or_default())
    })
}

/// The values in a file: `{"name": value}`, or each value under `value`.
fn values_of(text: &str) -> BTreeMap<String, u64> {
    let all: BTreeMap<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let number = |value: &Value| value.get("value").unwrap_or(value).as_u64();
    all.iter()
        .filter_map(|(name, value)| Some((name.clone(), number(value)?)))
        .collect()
}
