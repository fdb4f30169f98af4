//! What the driver said is free on each device, over time, beside what was tracked then.

/// What is free on a device at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    pub(crate) device: u8,
    pub(crate) time_us: i64,
    pub(crate) free_bytes: u64,
    pub(crate) total_bytes: u64,
    /// Bytes that this process is known to hold: segments, arrays and physical memory. Not managed memory, nor that of
    /// graphs, which the device may hold or not.
    pub(crate) tracked_bytes: u64,
}

/// Samples over time, thinned out as they become many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    kept: Vec<Sample>,
    /// The newest, which is kept whatever happens.
    last: Option<Sample>,
    /// Of so many samples one is kept.
    stride: u64,
    seen: u64,
}

/// Samples kept at most: the decoder reads no more than 10,000 values under a key that it does not know.
const MOST: usize = 1000;

impl Samples {
    pub(crate) fn push(&mut self, sample: Sample) {
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
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
        self.seen += 1;
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
            assert!(times.is_sorted() && times.len() <= MOST + 1);
            assert_eq!((times[0], times[times.len() - 1]), (0, time_us));
        }
        assert!(samples.iter().count() > MOST / 2);
    }
}
