//! A comparison in one sentence: how much differs, and where most of it is.

use std::cmp::Ordering;

use super::changes::{Change, SiteChange};
use crate::analysis::code::call_sites::NO_STACK;
use crate::analysis::properties::Property;
use crate::units::{Bytes, Count};

/// The comparison as a sentence. `names` are the names of the sides; `groups` are their differences, the largest first.
#[must_use]
pub fn headline(names: [&str; 2], total: Change, groups: &[SiteChange], by: Property) -> String {
    let [a, b] = names;
    let (before, after) = (total.before.bytes, total.after.bytes);
    let digits = Bytes::digits_apart(&[before, after]);
    let [from, to] = [before, after].map(|bytes| Bytes(bytes).to_digits(digits));
    let differs = Bytes(after.abs_diff(before));
    let whole = match after.cmp(&before) {
        Ordering::Greater => format!("{b} has {differs} more than {a} ({from} → {to})"),
        Ordering::Less => format!("{b} has {differs} less than {a} ({from} → {to})"),
        Ordering::Equal => format!("{a} and {b} have the same {from}"),
    };
    let largest = groups.first().filter(|group| !group.change.is_none());
    let Some(largest) = largest else {
        let alike = match by {
            Property::CallSite => "from the same call sites",
            _ => "group by group",
        };
        return capitalised(&format!("{whole}, {alike}."));
    };
    let (of_site, of_all) = (largest.change.bytes_delta(), total.bytes_delta());
    // If growth and shrinkage cancel each other out, no single place accounts for most of the difference.
    let [part, all] = [of_site, of_all].map(i64::unsigned_abs);
    let is_most = of_site.signum() == of_all.signum() && (all / 2..=all + all / 2).contains(&part);
    let share = match is_most && of_all != 0 {
        true => ", most of it",
        false => "; the largest difference is",
    };
    capitalised(&format!("{whole}{share} {}.", of_one(largest, by)))
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_uppercase());
    first.into_iter().flatten().chain(letters).collect()
}

/// `at model.py:39 forward (linear): +6.02 GiB, 220 more allocations`.
fn of_one(site: &SiteChange, by: Property) -> String {
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
    let place = match &*site.label {
        NO_STACK => "where no stack is recorded".to_owned(),
        label if by.frames().is_some() => format!("at {label}"),
        label => format!("in {label}"),
    };
    format!(
        "{place}{operators}: {}{}, {many}",
        sign(bytes),
        Bytes(bytes.unsigned_abs())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::changes::changes;
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
        said_of(["A", "B"], before, after, Property::CallSite)
    }

    fn said_of(names: [&str; 2], before: Side<'_>, after: Side<'_>, by: Property) -> String {
        let total = |side: Side<'_>| Amount {
            bytes: side.iter().map(|(_, mib, _)| mib << 20).sum(),
            count: side.iter().map(|(_, _, count)| count).sum(),
        };
        let mut sites = changes(named(before), named(after));
        for site in sites.iter_mut().filter(|site| site.label == "m:1") {
            "linear".clone_into(&mut site.operators);
        }
        let total = Change {
            before: total(before),
            after: total(after),
        };
        headline(names, total, &sites, by)
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
        // Shrinkage and growth cancel each other out.
        assert_eq!(
            said(&[(m, 10, 1)], &[(n, 10, 1)]),
            "A and B have the same 10.0 MiB; the largest difference is at m:1 (linear): −10.0 MiB, 1 fewer allocation."
        );
        assert_eq!(
            said(&[(m, 30, 1), (n, 1, 1)], &[(m, 10, 1), (n, 22, 1)]),
            "B has 1.00 MiB more than A (31.0 MiB → 32.0 MiB); the largest difference is at n:2: +21.0 MiB, in as many allocations."
        );
        assert_eq!(
            said(&[], &[(NO_STACK, 10, 1)]),
            "B has 10.0 MiB more than A (0 B → 10.0 MiB), most of it where no stack is recorded: +10.0 MiB, 1 more allocation."
        );
        assert_eq!(
            said(&[(m, 10, 1)], &[(m, 10, 1)]),
            "A and B have the same 10.0 MiB, from the same call sites."
        );
        let names = ["the first file", "the second file"];
        assert_eq!(
            said_of(
                names,
                &[("activation", 30, 2)],
                &[("activation", 10, 1)],
                Property::Role
            ),
            "The second file has 20.0 MiB less than the first file (30.0 MiB → 10.0 MiB), most of it in activation: −20.0 MiB, 1 fewer allocation."
        );
        assert_eq!(
            said_of(names, &[("f", 1, 1)], &[("f", 1, 1)], Property::Function),
            "The first file and the second file have the same 1.00 MiB, group by group."
        );
    }
}
