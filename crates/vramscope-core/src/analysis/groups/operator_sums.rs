//! The operators that made counted allocations, named by row of a table.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::analysis::code::operators::{OperatorId, Operators};
use crate::sorting::SortFew;

/// Bytes by row and operator. A row is whatever a table sums by, such as a call site.
#[derive(Default)]
pub struct OperatorSums {
    bytes: HashMap<(u32, OperatorId), u64>,
}

impl OperatorSums {
    /// Counts an allocation. Without a known operator, it adds no name.
    pub fn add(&mut self, row: u32, operator: OperatorId, bytes: u64) {
        if operator != OperatorId::NONE {
            let sum = self.bytes.entry((row, operator)).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The operators of each row that has any, by bytes descending: `mul`, `mul and exp`, or `mul, exp and 3 others`.
    #[must_use]
    pub fn named(self, operators: &Operators) -> HashMap<u32, String> {
        let mut ranked: Vec<_> = self.bytes.into_iter().collect();
        ranked.sort_few_by_key(|&((row, operator), bytes)| (row, Reverse(bytes), operator));
        let rows = ranked.chunk_by(|(a, _), (b, _)| a.0 == b.0);
        rows.map(|of_row| {
            let names = of_row.iter().map(|&((_, id), _)| operators.label(id));
            (of_row[0].0.0, enumeration(names))
        })
        .collect()
    }
}

fn enumeration<'a>(mut names: impl ExactSizeIterator<Item = &'a str>) -> String {
    match (names.next(), names.next(), names.len()) {
        (Some(first), None, _) => first.to_owned(),
        (Some(first), Some(second), 0) => format!("{first} and {second}"),
        (Some(first), Some(second), 1) => format!("{first}, {second} and 1 other"),
        (Some(first), Some(second), others) => format!("{first}, {second} and {others} others"),
        (None, ..) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row() {
        let of = |names: &[&'static str]| enumeration(names.iter().copied());
        assert_eq!(of(&[]), "");
        assert_eq!(of(&["mul"]), "mul");
        assert_eq!(of(&["mul", "exp"]), "mul and exp");
        assert_eq!(of(&["mul", "exp", "add"]), "mul, exp and 1 other");
        assert_eq!(of(&["mul", "exp", "add", "mm"]), "mul, exp and 2 others");
    }
}
