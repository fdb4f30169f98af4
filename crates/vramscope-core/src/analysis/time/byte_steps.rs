//! Bytes over time: by moment, or as steps of (first moment, bytes from then on), ascending.

use super::history::NEVER;

/// First moment of an allocation, first moment at which it is no longer live, bytes.
pub(crate) type Life = (u32, u32, u64);

/// The live bytes at each of `moments` moments, from births and deaths; saturating.
pub(crate) fn live_bytes(lives: impl Iterator<Item = Life> + Clone, moments: usize) -> Vec<u64> {
    let mut all = lives.clone().map(|(.., bytes)| bytes);
    if all
        .try_fold(0, |sum: u64, bytes| sum.checked_add(bytes))
        .is_none()
    {
        return impossible_live_bytes(lives, moments);
    }
    // First the differences, then their running sum in place. Differences may be negative, so arithmetic wraps; the sum
    // does not, as it never exceeds the sum of all bytes.
    let mut bytes = vec![0_u64; moments];
    for (born, died, size) in lives {
        if let Some(change) = bytes.get_mut(born as usize) {
            *change = change.wrapping_add(size);
        }
        if let Some(change) = bytes.get_mut(died as usize) {
            *change = change.wrapping_sub(size);
        }
    }
    let mut live = 0_u64;
    for change in &mut bytes {
        live = live.wrapping_add(*change);
        *change = live;
    }
    bytes
}

/// [`live_bytes`] for sizes that only a damaged file has, with sums in twice the bits.
fn impossible_live_bytes(lives: impl Iterator<Item = Life>, moments: usize) -> Vec<u64> {
    let mut changes = vec![0_i128; moments];
    for (born, died, size) in lives {
        if let Some(change) = changes.get_mut(born as usize) {
            *change += i128::from(size);
        }
        if let Some(change) = changes.get_mut(died as usize) {
            *change -= i128::from(size);
        }
    }
    let mut live = 0_i128;
    let running = changes.into_iter().map(|change| {
        live += change;
        u64::try_from(live.max(0)).unwrap_or(u64::MAX)
    });
    running.collect()
}

/// Live bytes, as changes at the beginning and end of lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteChanges(Vec<(u32, i128)>);

impl ByteChanges {
    pub(crate) fn add(&mut self, (born, died, bytes): Life) {
        let bytes = i128::from(bytes);
        self.0.push((born, bytes));
        if died != NEVER {
            self.0.push((died, -bytes));
        }
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// The live bytes at each moment at which they change; saturating.
    pub(crate) fn steps(mut self) -> Vec<(u32, u64)> {
        self.0.sort_unstable_by_key(|&(moment, _)| moment);
        let mut sum = 0_i128;
        let mut steps: Vec<(u32, u64)> = Vec::new();
        for (moment, change) in self.0 {
            sum += change;
            let bytes = u64::try_from(sum.max(0)).unwrap_or(u64::MAX);
            match steps.last_mut().filter(|last| last.0 == moment) {
                Some(last) => last.1 = bytes,
                None => steps.push((moment, bytes)),
            }
        }
        steps
    }
}

impl FromIterator<Life> for ByteChanges {
    fn from_iter<I: IntoIterator<Item = Life>>(lives: I) -> Self {
        let mut changes = Self::default();
        lives.into_iter().for_each(|life| changes.add(life));
        changes
    }
}

/// The first step with the most bytes; `None` if there are never any bytes.
pub(crate) fn first_most(steps: &[(u32, u64)]) -> Option<(u32, u64)> {
    let most = most_bytes(steps);
    let mut steps = steps.iter().copied();
    steps.find(|step| step.1 == most && most > 0)
}

/// The bytes at a moment; 0 before the first step.
#[must_use]
pub fn bytes_at(steps: &[(u32, u64)], moment: u32) -> u64 {
    let after = steps.partition_point(|&(from, _)| from <= moment);
    after.checked_sub(1).map_or(0, |step| steps[step].1)
}

/// The maximum over all moments; 0 without steps.
#[must_use]
pub fn most_bytes(steps: &[(u32, u64)]) -> u64 {
    steps.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0)
}
