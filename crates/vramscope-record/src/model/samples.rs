//! The driver's reports over time: free memory of each device, with the bytes tracked then, and usage of its
//! pools.

use super::pools::Usage;

/// Free memory of a device at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    pub(crate) device: u8,
    pub(crate) time_us: i64,
    pub(crate) free_bytes: u64,
    pub(crate) total_bytes: u64,
    /// Bytes that this process is known to hold: segments, unplaced memory of its pools, graphs, arrays and physical memory.
    /// Excludes managed memory, which may or may not be on the device.
    pub(crate) tracked_bytes: u64,
    /// The part of these that pools hold beyond their segments.
    pub(crate) unplaced_bytes: u64,
}

/// Usage of all pools of a device at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PoolSample {
    pub(crate) device: u8,
    pub(crate) time_us: i64,
    pub(crate) usage: Usage,
}

/// Samples over time. Beyond `MOST`, every other one is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Samples<T, const MOST: usize> {
    kept: Vec<T>,
    /// The newest sample, if the stride leaves it out of `kept`.
    last: Option<T>,
    /// Only every `stride`th sample is kept.
    stride: u64,
    pushed: u64,
}

/// Maximum number of samples of devices. The decoder reads at most 10,000 values under an unknown key.
pub(crate) const MAX_SAMPLES: usize = 600;
/// Maximum number of samples of devices' pools.
pub(crate) const MAX_POOL_SAMPLES: usize = 400;

impl<T, const MOST: usize> Default for Samples<T, MOST> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            last: None,
            stride: 1,
            pushed: 0,
        }
    }
}

impl<T, const MOST: usize> Samples<T, MOST> {
    pub(crate) fn push(&mut self, sample: T) {
        let stride = self.stride;
        if self.pushed.is_multiple_of(stride) {
            if self.kept.len() == MOST {
                let mut row = 0;
                self.kept.retain(|_| {
                    row += 1;
                    row % 2 == 1
                });
                self.stride = stride * 2;
            }
            self.kept.push(sample);
            self.last = None;
        } else {
            self.last = Some(sample);
        }
        self.pushed += 1;
    }

    /// Removes a sample, if it was kept.
    pub(crate) fn withdraw(&mut self, sample: &T)
    where
        T: PartialEq,
    {
        self.kept.retain(|kept| kept != sample);
        self.last.take_if(|last| last == sample);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().chain(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_the_first_and_the_last_stay() {
        let mut samples = Samples::<i64, MAX_SAMPLES>::default();
        for time_us in 0..12_345 {
            samples.push(time_us);
            let times: Vec<_> = samples.iter().copied().collect();
            assert!(times.is_sorted() && times.len() <= MAX_SAMPLES + 1);
            assert_eq!((times[0], times[times.len() - 1]), (0, time_us));
        }
        assert!(samples.iter().count() > MAX_SAMPLES / 2);
    }
}
