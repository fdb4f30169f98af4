//! The curve of live memory, changed where allocations would live shorter.

use crate::analysis::time::history::History;

/// Changes of the live bytes, to be added to the recorded curve.
pub(super) struct Curve<'a> {
    history: &'a History,
    /// For each moment, the difference to the change at the moment before.
    steps: Vec<i64>,
    /// The moments at which to count the allocations that give up bytes, with the counts.
    counted: [(u32, u64); 2],
    /// Whether any allocation gives up bytes.
    is_changed: bool,
}

impl<'a> Curve<'a> {
    /// The curve as recorded. `counted` are the moments counted by [`changed`](Self::changed).
    pub(super) fn new(history: &'a History, counted: [u32; 2]) -> Self {
        Self {
            history,
            steps: vec![0; history.active_bytes.len() + 1],
            counted: counted.map(|moment| (moment, 0)),
            is_changed: false,
        }
    }

    /// Adds bytes to the moments `from .. to`.
    pub(super) fn add(&mut self, bytes: i64, from: u32, to: u32) {
        if let Some((first, end)) = self.span(from, to) {
            for (at, change) in [(first, bytes), (end, bytes.saturating_neg())] {
                self.steps[at] = self.steps[at].saturating_add(change);
            }
        }
    }

    /// Removes an allocation's bytes from the moments `from .. to`.
    pub(super) fn remove(&mut self, bytes: u64, from: u32, to: u32) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.add(-bytes, from, to);
        self.is_changed |= self.span(from, to).is_some();
        for (moment, count) in &mut self.counted {
            *count += u64::from((from..to).contains(moment));
        }
    }

    /// The indexes of the moments `from .. to`, if there are any.
    fn span(&self, from: u32, to: u32) -> Option<(usize, usize)> {
        let place = |moment: u32| (moment as usize).min(self.steps.len() - 1);
        (place(from) < place(to)).then(|| (place(from), place(to)))
    }

    /// Whether nothing was removed.
    pub(super) fn is_as_recorded(&self) -> bool {
        !self.is_changed
    }

    /// Number of allocations that give up bytes at each of the counted moments.
    pub(super) fn changed(&self) -> [u64; 2] {
        self.counted.map(|(_, count)| count)
    }

    /// The highest value over the moments up to `until`, and the value at `until`.
    pub(super) fn peak(&self, until: u32) -> (u64, u64) {
        let mut change = 0_i64;
        let (mut peak, mut last) = (0, 0);
        let moments = self.history.active_bytes.iter().zip(&self.steps);
        for (&active, &step) in moments.take(until as usize + 1) {
            change = change.saturating_add(step);
            last = active.saturating_add_signed(change);
            peak = peak.max(last);
        }
        (peak, last)
    }
}
