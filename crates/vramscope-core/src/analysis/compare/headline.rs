//! A comparison in one sentence: how much differs, and where most of it is.

use std::cmp::Ordering;

use super::changes::{Comparison, SiteChange};
use crate::units::{Bytes, Count};

/// The comparison as a sentence. `names` are what the sides are called.
#[must_use]
pub fn headline(names: [&str; 2], comparison: &Comparison) -> String {
    let [a, b] = names;
    let (before, after) = (comparison.total.before.bytes, comparison.total.after.bytes);
    let digits = Bytes::digits_apart(&[before, after]);
    let [from, to] = [before, after].map(|bytes| Bytes(bytes).to_digits(digits));
    let differs = Bytes(after.abs_diff(before));
    let whole = match after.cmp(&before) {
        Ordering::Greater => format!("{b} has {differs} more than {a} ({from} → {to})"),
        Ordering::Less => format!("{b} has {differs} less than {a} ({from} → {to})"),
        Ordering::Equal => format!("{a} and {b} have the same {from}"),
    };
    // They are sorted by their differences.
    let largest = comparison
        .sites
        .first()
        .filter(|site| !site.change.is_none());
    let Some(largest) = largest else {
        return format!("{whole}, from the same call sites.");
    };
    let (of_site, of_all) = (largest.change.bytes_delta(), comparison.total.bytes_delta());
    let is_most =
        of_site.signum() == of_all.signum() && of_site.unsigned_abs() >= of_all.unsigned_abs() / 2;
    let share = match is_most && of_all != 0 {
        true => ", most of it at",
        false => "; the largest difference is at",
    };
    format!("{whole}{share} {}.", of_one(largest))
}

/// `model.py:39 forward (linear): +6.02 GiB, 220 more allocations`.
fn of_one(site: &SiteChange) -> String {
    let operators = match &*site.operators {
        "" => String::new(),
        operators => format!(" ({operators})"),
    };
    let sign = |delta: i64| if delta < 0 { "−" } else { "+" };
    let (bytes, count) = (site.change.bytes_delta(), site.change.count_delta());
    let word = match count.unsigned_abs() {
        1 => "allocation",
        _ => "allocations",
    };
    let many = match count {
        0 => "in as many allocations".to_owned(),
        1.. => format!("{} more {word}", Count(count.unsigned_abs())),
        _ => format!("{} fewer {word}", Count(count.unsigned_abs())),
    };
    format!(
        "{}{operators}: {}{}, {many}",
        site.label,
        sign(bytes),
        Bytes(bytes.unsigned_abs())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::changes::{Change, changes};
    use crate::analysis::groups::turnover::Amount;

    /// Call sites with their MiB and numbers of allocations.
    type Side<'a> = &'a [(&'a str, u64, u64)];

    fn named<'a>(side: Side<'a>) -> impl Iterator<Item = (&'a str, Amount)> {
        side.iter().map(|&(name, mib, count)| {
            let bytes = mib << 20;
            (name, Amount { bytes, count })
        })
    }

    fn said(before: Side<'_>, after: Side<'_>) -> String {
        let total = |side: Side<'_>| Amount {
            bytes: side.iter().map(|(_, mib, _)| mib << 20).sum(),
            count: side.iter().map(|(_, _, count)| count).sum(),
        };
        let mut sites = changes(named(before), named(after));
        for site in sites.iter_mut().filter(|site| site.label == "m:1") {
            "linear".clone_into(&mut site.operators);
        }
        let comparison = Comparison {
            total: Change {
                before: total(before),
                after: total(after),
            },
            sites,
            ..Comparison::default()
        };
        headline(["A", "B"], &comparison)
    }

    #[test]
    fn how_much_and_where() {
        let (m, n) = ("m:1", "n:2");
        assert_eq!(
            said(&[(m, 100, 10), (n, 10, 1)], &[(m, 160, 15), (n, 20, 2)]),
            "B has 70.0 MiB more than A (110 MiB → 180 MiB), most of it at m:1 (linear): +60.0 MiB, 5 more allocations."
        );
        assert_eq!(
            said(&[(n, 10, 2)], &[(n, 9, 1)]),
            "B has 1.00 MiB less than A (10.0 MiB → 9.00 MiB), most of it at n:2: −1.00 MiB, 1 fewer allocation."
        );
        // What shrank and what grew cancel each other out.
        assert_eq!(
            said(&[(m, 10, 1)], &[(n, 10, 1)]),
            "A and B have the same 10.0 MiB; the largest difference is at m:1 (linear): −10.0 MiB, 1 fewer allocation."
        );
        assert_eq!(
            said(&[(m, 30, 1), (n, 1, 1)], &[(m, 10, 1), (n, 22, 1)]),
            "B has 1.00 MiB more than A (31.0 MiB → 32.0 MiB); the largest difference is at n:2: +21.0 MiB, in as many allocations."
        );
        assert_eq!(
            said(&[(m, 10, 1)], &[(m, 10, 1)]),
            "A and B have the same 10.0 MiB, from the same call sites."
        );
    }
}
