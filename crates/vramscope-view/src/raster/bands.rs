//! The timeline's input: one row per allocation, in stacking order, as columns.

use std::ops::RangeInclusive;
use vramscope_core::analysis::time::byte_steps::bytes_at;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::moment_times::MomentTimes;

/// Stands for "never" in a column of moments.
pub const NEVER: u32 = u32::MAX;

/// The bands of a timeline. A row is an allocation; row 0 is at the bottom of the stack.
///
/// A *moment* `m` in `0..=n_events` is the state after `m` events; row `a` is live in the moments
/// `born[a]..died[a]`. The unit of the x axis depends on whether there are times:
///
/// - events: moment `m` covers `[m, m + 1)`, so the axis is `[0, n_events + 1)`. It is not empty
///   even if no event was recorded.
/// - µs since the first moment: moment `m` covers the time until the next one, and the last one a
///   short tail ([`Bands::x_end`]). A moment of length 0 belongs to the pixel column of its
///   instant.
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// First moment of life; 0 is before the recording.
    pub born: &'a [u32],
    /// First moment after life; [`NEVER`] if still live at the end.
    pub died: &'a [u32],
    /// Moment from which the free is pending; [`NEVER`] if there is none.
    pub free_requested: &'a [u32],
    /// Height of the band, in bytes. Rows of 0 bytes are not drawn.
    pub bytes: &'a [u64],
    /// Sum of live bytes at each of the `n_events + 1` moments.
    pub total_bytes: Totals<'a>,
    /// Start of each moment in µs, not decreasing; the first is the x axis's zero. `None` if the
    /// axis is events.
    pub moment_start_us: Option<&'a MomentTimes>,
}

/// A sum of bytes at each moment.
#[derive(Clone, Copy, Debug)]
pub enum Totals<'a> {
    /// One by one.
    Each(&'a [u64]),
    /// A number of moments, few of which differ from the one before: (first moment, bytes from then on), ascending.
    Steps(usize, &'a [(u32, u64)]),
}

impl<'a> From<&'a Vec<u64>> for Totals<'a> {
    fn from(each: &'a Vec<u64>) -> Self {
        Self::Each(each)
    }
}

impl Totals<'_> {
    /// Number of moments.
    #[must_use]
    pub fn moments(self) -> usize {
        match self {
            Self::Each(each) => each.len(),
            Self::Steps(moments, _) => moments,
        }
    }

    /// The sum at a moment; 0 after the last.
    #[must_use]
    pub fn at(self, moment: u32) -> u64 {
        match self {
            Self::Each(each) => each.get(moment as usize).copied().unwrap_or(0),
            Self::Steps(moments, _) if moment as usize >= moments => 0,
            Self::Steps(_, steps) => bytes_at(steps, moment),
        }
    }

    /// The earliest of the moments `from..to` with the highest sum, and that sum; the first and 0 if there are none.
    pub(super) fn highest(self, from: usize, to: usize) -> (usize, u64) {
        match self {
            Self::Each(each) => {
                // Two passes, because the maximum is vectorised and finding it is a short scan.
                let within = &each[from..to];
                let most = within.iter().copied().max().unwrap_or(0);
                let place = within.iter().position(|&value| value == most);
                (from + place.unwrap_or(0), most)
            }
            Self::Steps(_, steps) => {
                let first = self.at(from as u32);
                let begin = steps.partition_point(|&(moment, _)| moment as usize <= from);
                let within = steps[begin..].iter();
                let within = within.take_while(|&&(moment, _)| (moment as usize) < to);
                within.fold((from, first), |best, &(moment, bytes)| {
                    match bytes > best.1 {
                        true => (moment as usize, bytes),
                        false => best,
                    }
                })
            }
        }
    }
}

impl<'a> Bands<'a> {
    /// The bands of a device's history. `with_time` has no effect if the history has no times.
    #[must_use]
    pub fn of(history: &'a History, with_time: bool) -> Self {
        let table = &history.allocations;
        let has_time = with_time && !history.moment_start_us.is_empty();
        Self {
            born: &table.born,
            died: &table.died,
            free_requested: &table.free_requested,
            bytes: &table.bytes,
            total_bytes: (&history.active_bytes).into(),
            moment_start_us: has_time.then_some(&history.moment_start_us),
        }
    }

    /// Number of allocations. If columns differ in length, the shortest one counts.
    #[must_use]
    pub fn rows(&self) -> usize {
        let rows = self.born.len().min(self.died.len());
        rows.min(self.free_requested.len())
            .min(self.bytes.len())
            .min(u32::MAX as usize - 2)
    }

    /// Number of moments, `n_events + 1`.
    #[must_use]
    pub fn moments(&self) -> usize {
        let moments = self.total_bytes.moments().min(u32::MAX as usize - 1);
        self.moment_start_us
            .map_or(moments, |starts| moments.min(starts.len()))
    }

    /// Whether row `row` is live at moment `moment`.
    #[must_use]
    pub fn is_live(&self, row: usize, moment: u32) -> bool {
        self.born[row] <= moment && moment < self.died[row]
    }

    /// End of the x axis: events, or µs since the first moment.
    ///
    /// On the time axis the last moment gets half a percent of the whole, at least 1 µs, to be
    /// visible.
    #[must_use]
    pub fn x_end(&self) -> f64 {
        let moments = self.moments();
        if self.moment_start_us.is_none() || moments == 0 {
            return moments as f64;
        }
        let last = self.moment_x(moments - 1);
        last + (last / 200.0).ceil().max(1.0)
    }

    /// Start of a moment on the x axis; the axis's end for moments after the last.
    #[must_use]
    pub fn moment_x(&self, moment: usize) -> f64 {
        match self.moment_start_us {
            None => moment.min(self.moments()) as f64,
            Some(starts) if moment < self.moments() => {
                let zero = starts.first().unwrap_or(0);
                let start = starts.get(moment as u32).unwrap_or(zero);
                start.saturating_sub(zero) as f64
            }
            Some(_) => self.x_end(),
        }
    }

    /// The moment at `x`; the last one if several begin at once. `None` outside the axis.
    #[must_use]
    pub fn moment_at(&self, x: f64) -> Option<u32> {
        self.moments_in(x, x.next_up())
            .map(|moments| *moments.end())
    }

    /// The moments that overlap `[from_x, to_x)`; `None` if there are none.
    #[must_use]
    pub fn moments_in(&self, from_x: f64, to_x: f64) -> Option<RangeInclusive<u32>> {
        let moments = self.moments();
        let inside = from_x < to_x && to_x > 0.0 && from_x < self.x_end();
        if !inside || moments == 0 {
            return None;
        }
        let last_moment = (moments - 1) as u32;
        let Some(starts) = self.moment_start_us else {
            // Truncating casts saturate, so any float is safe here.
            let first = from_x.max(0.0) as u32;
            let end = to_x.ceil().min(moments as f64) as u32;
            return Some(
                first.min(last_moment)..=end.saturating_sub(1).max(first).min(last_moment),
            );
        };
        let zero = starts.first().unwrap_or(0);
        let before = |edge: f64| {
            let is_before = |start: i64| (start.saturating_sub(zero) as f64) < edge;
            starts.partition_point(is_before).min(moments)
        };
        let mut first = before(from_x);
        // The moment before overlaps too, unless the next one begins exactly at the edge.
        if first > 0 && (first == moments || self.moment_x(first) > from_x) {
            first -= 1;
        }
        let end = before(to_x);
        (end > first).then(|| first as u32..=(end - 1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis<'a>(total_bytes: &'a [u64], moment_start_us: Option<&'a MomentTimes>) -> Bands<'a> {
        Bands {
            born: &[],
            died: &[],
            free_requested: &[],
            bytes: &[],
            total_bytes: Totals::Each(total_bytes),
            moment_start_us,
        }
    }

    fn starts(times: &[i64]) -> MomentTimes {
        times.iter().copied().collect()
    }

    #[test]
    fn event_axis_cuts_at_whole_events() {
        let bands = axis(&[0; 10], None);
        assert_eq!(bands.x_end(), 10.0);
        assert_eq!(bands.moments_in(0.0, 10.0), Some(0..=9));
        assert_eq!(bands.moments_in(2.0, 3.0), Some(2..=2));
        assert_eq!(bands.moments_in(2.5, 3.5), Some(2..=3));
        assert_eq!(bands.moments_in(-5.0, 0.5), Some(0..=0));
        assert_eq!(bands.moments_in(10.0, 11.0), None);
        assert_eq!(bands.moments_in(-1.0, 0.0), None);
        assert_eq!(bands.moments_in(f64::NAN, 1.0), None);
    }

    #[test]
    fn one_moment_is_still_a_picture() {
        assert_eq!(axis(&[7], None).moments_in(0.25, 0.5), Some(0..=0));
        assert_eq!(
            axis(&[7], Some(&starts(&[99]))).moments_in(0.25, 0.5),
            Some(0..=0)
        );
    }

    #[test]
    fn moments_of_no_length_belong_to_their_instant() {
        let times = starts(&[1_000, 1_010, 1_010, 1_010, 1_020]);
        let bands = axis(&[0; 5], Some(&times));
        assert_eq!(bands.x_end(), 21.0);
        assert_eq!(bands.moments_in(0.0, 10.0), Some(0..=0));
        assert_eq!(bands.moments_in(0.0, 10.5), Some(0..=3));
        assert_eq!(bands.moments_in(10.0, 11.0), Some(1..=3));
        assert_eq!(bands.moments_in(11.0, 12.0), Some(3..=3));
        assert_eq!(bands.moments_in(20.5, 30.0), Some(4..=4));
        let at: Vec<_> = [0.0, 9.5, 10.0, 15.0, 20.0, 20.9, 21.0]
            .map(|x| bands.moment_at(x))
            .to_vec();
        let expected = [Some(0), Some(0), Some(3), Some(3), Some(4), Some(4), None];
        assert_eq!(at, expected);
    }
}
