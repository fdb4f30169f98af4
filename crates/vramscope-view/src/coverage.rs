//! Computes how much of each pixel is covered by rectangles, in one pass over the pixels.
//!
//! A rectangle covers a pixel by the product of the covered parts of its column and its row. Along
//! a row, coverage therefore changes at no more than four pixels, two at each end, and so it does
//! down a column. Only these changes are stored, and running sums turn them into pixels: a picture
//! costs O(rectangles + pixels) whatever their sizes. All sums are integers, so what was added is
//! subtracted again exactly.
//!
//! A picture is drawn in stripes of a few rows, whose changes fit into the processor's cache.

use std::ops::Range;

/// The coverage of a whole pixel. With 12 bits of light, sums of up to 16 layers fit into 31 bits.
pub(crate) const WHOLE: f32 = 32_768.0;
/// Approximate number of changes in a stripe.
const STRIPE: usize = 1 << 15;

/// Red, green, blue (12-bit light × coverage), and the coverage in a unit that the caller chooses.
pub(crate) type Sums<T> = [T; 4];

/// An integer type for sums: 32 bits for a few layers on a pixel, 64 bits for any number.
pub(crate) trait Sum: Copy + Default + PartialEq {
    /// A coverage as a sum.
    fn of(coverage: i32) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! sum {
    ($type:ty) => {
        impl Sum for $type {
            #[inline]
            fn of(coverage: i32) -> Self {
                Self::from(coverage)
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    };
}

sum!(i32);
sum!(i64);

/// Sums up rectangles; keeps its working memory between pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage<T> {
    width_px: usize,
    /// First row of the stripe.
    first_px: usize,
    height_px: usize,
    /// Coverage that affects a single row.
    once: Changes<T>,
    /// Coverage that starts or ends at a row and continues below.
    on: Changes<T>,
    /// By column: the changes of `on` in all rows so far.
    columns: Vec<Sums<T>>,
}

/// Changes of coverage from each pixel to the next, by row and column of a stripe. Rows have two more entries than pixels,
/// because a rectangle may end after the last pixel.
#[derive(Clone, Debug, Default)]
struct Changes<T> {
    cells: Vec<Sums<T>>,
    /// Entries per row.
    width: usize,
    /// Whether each row has changes.
    is_changed: Vec<bool>,
}

/// Divides a picture of this width into stripes: the rows of each, and their pixels.
pub(crate) fn stripes(
    rgba: &mut [u8],
    width_px: u32,
) -> impl DoubleEndedIterator<Item = (Range<usize>, &mut [u8])> {
    let row_bytes = (width_px as usize * 4).max(1);
    let rows = (STRIPE / (width_px as usize + 2)).max(1);
    let stripes = rgba.chunks_mut(rows * row_bytes).enumerate();
    stripes.map(move |(stripe, pixels)| {
        let first = stripe * rows;
        (first..first + pixels.len() / row_bytes, pixels)
    })
}

impl<T: Sum> Coverage<T> {
    /// Starts an empty stripe.
    pub(crate) fn begin(&mut self, width_px: u32, rows: Range<usize>) {
        (self.width_px, self.first_px) = (width_px as usize, rows.start);
        self.height_px = rows.len();
        for changes in [&mut self.once, &mut self.on] {
            changes.resize(self.width_px, self.height_px);
        }
        self.columns.clear();
        self.columns.resize(self.width_px, [T::default(); 4]);
    }

    /// Adds the part of a rectangle that lies in the stripe. It is in px of the picture, clipped to it; y grows downwards.
    /// It consists of adjacent parts from `left` on, each with its right end and what a whole pixel of it adds to the sums.
    #[inline]
    pub(crate) fn add<const PARTS: usize>(
        &mut self,
        left: f32,
        parts: [(f32, Sums<T>); PARTS],
        y: (f32, f32),
    ) {
        let top = (y.0 - self.first_px as f32).max(0.0);
        let bottom = (y.1 - self.first_px as f32).min(self.height_px as f32);
        if top >= bottom {
            return;
        }
        let (first, last) = (whole(top), whole(bottom));
        if first == last {
            self.once.add(first, left, &parts, bottom - top);
            return;
        }
        self.once.add(first, left, &parts, (first + 1) as f32 - top);
        self.once.add(last, left, &parts, bottom - last as f32);
        if first + 1 < last {
            self.on.add(first + 1, left, &parts, 1.0);
            self.on.add(last, left, &parts, -1.0);
        }
    }

    /// Turns the rectangles into the stripe's pixels of R, G, B, A, row by row from the top. `look` turns sums into a
    /// colour.
    pub(crate) fn pixels(&mut self, rgba: &mut [u8], look: impl Fn(Sums<T>) -> [u8; 4]) {
        let row_bytes = (self.width_px * 4).max(1);
        let nothing = [T::default(); 4];
        // After a row with changes of its own, the next one differs too.
        let mut differs = true;
        for row in 0..rgba.len() / row_bytes {
            let (above, pixels) = rgba.split_at_mut(row * row_bytes);
            let pixels = &mut pixels[..row_bytes];
            let (has_own, has_more) = (self.once.is_changed[row], self.on.is_changed[row]);
            if !std::mem::replace(&mut differs, has_own) && !has_own && !has_more {
                pixels.copy_from_slice(&above[above.len() - row_bytes..]);
                continue;
            }
            let (mut sums, mut pixel) = (nothing, look(nothing));
            let [on, once] = [&mut self.on, &mut self.once].map(|changes| changes.row(row));
            let columns = self.columns.iter_mut().zip(on.iter().zip(once.iter()));
            for ((column, (on, once)), out) in columns.zip(pixels.chunks_exact_mut(4)) {
                *column = plus(*column, *on);
                let change = plus(*column, *once);
                if change != nothing {
                    sums = plus(sums, change);
                    pixel = look(sums);
                }
                out.copy_from_slice(&pixel);
            }
            for (changes, is_changed) in [(on, has_more), (once, has_own)] {
                if is_changed {
                    changes.fill(nothing);
                }
            }
        }
    }
}

impl<T: Sum> Changes<T> {
    /// Makes room for a stripe. After drawing, no changes are left.
    fn resize(&mut self, width_px: usize, height_px: usize) {
        self.width = width_px + 2;
        self.cells.resize(self.width * height_px, [T::default(); 4]);
        self.is_changed.clear();
        self.is_changed.resize(height_px, false);
    }

    fn row(&mut self, row: usize) -> &mut [Sums<T>] {
        &mut self.cells[row * self.width..(row + 1) * self.width]
    }

    /// Adds the parts of a rectangle to a row, of whose height they cover this share. A rectangle that reaches the last row
    /// has no end below it.
    #[inline]
    fn add<const PARTS: usize>(
        &mut self,
        row: usize,
        left: f32,
        parts: &[(f32, Sums<T>); PARTS],
        height: f32,
    ) {
        let right = parts.last().map_or(left, |part| part.0);
        let Some(is_changed) = self.is_changed.get_mut(row).filter(|_| left < right) else {
            return;
        };
        *is_changed = true;
        let cells = self.row(row);
        let (first, last) = (whole(left), whole(right));
        let coverage = |width: f32| rounded(width * height * WHOLE);
        let mut from = left;
        if first == last {
            let mut inside = [T::default(); 4];
            for &(to, light) in parts {
                inside = plus(inside, times(light, coverage(to - from)));
                from = to;
            }
            change(cells, first, inside);
            change(cells, first + 1, times(inside, -1));
            return;
        }
        for &(to, light) in parts {
            let mut add = |at, coverage| change(cells, at, times(light, coverage));
            let (first, last) = (whole(from), whole(to));
            if first == last {
                let inside = coverage(to - from);
                add(first, inside);
                add(first + 1, -inside);
            } else {
                let widths = [(first + 1) as f32 - from, 1.0, to - last as f32];
                let [begin, middle, end] = widths.map(coverage);
                add(first, begin);
                add(first + 1, middle - begin);
                add(last, end - middle);
                add(last + 1, -end);
            }
            from = to;
        }
    }
}

#[inline]
fn plus<T: Sum>(a: Sums<T>, b: Sums<T>) -> Sums<T> {
    std::array::from_fn(|c| a[c].plus(b[c]))
}

/// The integer part of a non-negative number.
#[inline]
fn whole(px: f32) -> usize {
    px as u32 as usize
}

/// The nearest whole number. Adding 1.5 · 2^23 leaves it in the low bits, which takes one instruction instead of a
/// function call for rounding.
#[inline]
fn rounded(value: f32) -> i32 {
    (value + 12_582_912.0).to_bits() as i32 - 0x4b40_0000
}

#[inline]
fn times<T: Sum>(light: Sums<T>, coverage: i32) -> Sums<T> {
    light.map(|light| T::of(coverage).times(light))
}

#[inline]
fn change<T: Sum>(cells: &mut [Sums<T>], at: usize, by: Sums<T>) {
    if let Some(sums) = cells.get_mut(at) {
        *sums = plus(*sums, by);
    }
}
