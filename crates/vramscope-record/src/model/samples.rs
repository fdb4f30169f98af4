//! The driver's reports of free memory on each device over time, with the bytes tracked then.

/// Free memory of a device at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    pub(crate) device: u8,
    pub(crate) time_us: i64,
    pub(crate) free_bytes: u64,
    pub(crate) total_bytes: u64,
    /// Bytes that this process is known to hold: segments, arrays and physical memory. Excludes managed memory and
    /// memory of graphs, which may or may not be on the device.
    pub(crate) tracked_bytes: u64,
}

/// Samples over time. Beyond [`MAX_SAMPLES`], every other one is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    kept: Vec<Sample>,
    /// The newest sample, if the stride leaves it out of `kept`.
    last: Option<Sample>,
    /// Only every `stride`th sample is kept.
    stride: u64,
    pushed: u64,
}

/// Maximum number of samples. The decoder reads at most 10,000 values under a key that it does not know.
const MAX_SAMPLES: usize = 1000;

impl Samples {
    pub(crate) fn push(&mut self, sample: Sample) {
        let stride = self.stride.max(1);
        if self.pushed.is_multiple_of(stride) {
            if self.kept.len() == MAX_SAMPLES {
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.kept.iter().chain(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_the_first_and_the_last_stay() {
        let mut samples = Samples::default();
        for time_us in 0..12_345 {
            samples.push(Sample {
                device: 0,
                time_us,
                free_bytes: 1,
                total_bytes: 2,
                tracked_bytes: 1,
            });
            let times: Vec<_> = samples.iter().map(|sample| sample.time_us).collect();
            assert!(times.is_sorted() && times.len() <= MAX_SAMPLES + 1);
            assert_eq!((times[0], times[times.len() - 1]), (0, time_us));
        }
        assert!(samples.iter().count() > MAX_SAMPLES / 2);
    }
}
