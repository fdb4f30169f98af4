//! How much of each pixel rectangles cover, in one pass over the rows of pixels.
//!
//! A rectangle covers a pixel by the product of what it covers of the column and of the row, so along a
//! row its coverage changes at no more than four places: where it begins and ends, each spread over two
//! pixels. Only these changes are written down, in a row of sums that is turned into pixels by adding
//! them up; and a rectangle is touched in the row where it begins and in the one where it ends. So a
//! picture costs O(rectangles + pixels), however large they are. All sums are integers: whatever
//! was added is taken away again to the last bit.

/// A whole pixel. With light of 12 bits, sums of up to 16 layers stay within 31 bits.
pub(crate) const WHOLE: f32 = 32_768.0;
/// The end of a list.
const END: u32 = u32::MAX;

/// Red, green, blue (12-bit light × coverage), and the coverage in a unit that the caller chooses.
pub(crate) type Sums<T> = [T; 4];

/// An integer that sums are kept in: 32 bits for a few layers on a pixel, 64 for any number.
pub(crate) trait Sum: Copy + Default + PartialEq {
    /// A coverage.
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

/// A rectangle in px of the picture, clipped to it; y from the top.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) top: f32,
    pub(crate) bottom: f32,
    /// What is drawn: the caller knows its light.
    pub(crate) shade: u32,
    /// The next span that is touched in the same row.
    next: u32,
}

/// Sums rectangles up; keeps its working memory between pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage<T> {
    spans: Vec<Span>,
    /// Row of pixels → the first span that is touched there.
    first: Vec<u32>,
    width_px: usize,
    /// Changes from pixel to pixel in one row, and in that row and all below it.
    once: Vec<Sums<T>>,
    on: Vec<Sums<T>>,
}

impl<T: Sum> Coverage<T> {
    /// Forgets all rectangles; the next picture has this size.
    pub(crate) fn begin(&mut self, width_px: u32, height_px: u32) {
        self.width_px = width_px as usize;
        self.spans.clear();
        self.first.clear();
        self.first.resize(height_px as usize, END);
    }

    /// Adds a rectangle, clipped to the picture; `None` if nothing of it is there. The number is that of
    /// [`Coverage::span`].
    #[inline]
    pub(crate) fn add(
        &mut self,
        (left, right): (f32, f32),
        (top, bottom): (f32, f32),
        shade: u32,
    ) -> Option<u32> {
        if left >= right || top >= bottom {
            return None;
        }
        let span = self.spans.len() as u32;
        // Clipped to the picture, a top is below its height.
        let first = self.first.get_mut(top as usize)?;
        self.spans.push(Span {
            left,
            right,
            top,
            bottom,
            shade,
            next: *first,
        });
        *first = span;
        Some(span)
    }

    pub(crate) fn span(&self, span: u32) -> Option<&Span> {
        self.spans.get(span as usize)
    }

    /// Turns the rectangles into pixels of R, G, B, A, row by row from the top. `light` is what a whole pixel of a
    /// shade adds to the sums, `pixel` what sums look like.
    pub(crate) fn pixels(
        &mut self,
        rgba: &mut [u8],
        light: impl Fn(u32) -> Sums<T>,
        pixel: impl Fn(Sums<T>) -> [u8; 4],
    ) {
        // One more for what changes behind the last pixel, and one behind that.
        let (width, nothing) = (self.width_px, [T::default(); 4]);
        self.once.clear();
        self.once.resize(width + 2, nothing);
        self.on.clear();
        self.on.resize(width + 2, nothing);
        let rows = rgba.chunks_exact_mut((width * 4).max(1));
        for (y_px, pixels) in rows.take(self.first.len()).enumerate() {
            let mut next = self.first[y_px];
            while let Some(&span) = self.spans.get(next as usize) {
                self.touch(next, &span, y_px, light(span.shade));
                next = span.next;
            }
            self.emit(pixels, &pixel);
        }
    }

    /// Writes down what changes in row `y_px` because a span begins or ends in it.
    #[inline]
    fn touch(&mut self, id: u32, span: &Span, y_px: usize, light: Sums<T>) {
        let row = y_px as f32;
        let end = span.bottom as usize;
        let begins = span.top >= row;
        let rest = span.bottom - row;
        if begins && rest <= 1.0 {
            change(&mut self.once, span, span.bottom - span.top, light);
        } else if begins {
            change(&mut self.on, span, 1.0, light);
            change(&mut self.once, span, row - span.top, light);
            // A span that ends at the picture's edge is never taken away.
            if let Some(first) = self.first.get_mut(end) {
                self.spans[id as usize].next = *first;
                *first = id;
            }
        } else {
            change(&mut self.on, span, -1.0, light);
            change(&mut self.once, span, rest, light);
        }
    }

    /// Adds the changes up to pixels, and forgets those of this row.
    fn emit(&mut self, pixels: &mut [u8], look: &impl Fn(Sums<T>) -> [u8; 4]) {
        let nothing = [T::default(); 4];
        let mut sums = nothing;
        let mut pixel = look(sums);
        let mut row = std::mem::take(&mut self.once);
        let columns = row.iter_mut().zip(&self.on);
        for ((once, on), out) in columns.zip(pixels.chunks_exact_mut(4)) {
            let change: Sums<T> = std::array::from_fn(|c| once[c].plus(on[c]));
            if change != nothing {
                for (sum, change) in sums.iter_mut().zip(change) {
                    *sum = sum.plus(change);
                }
                pixel = look(sums);
            }
            // They may cancel one another.
            *once = nothing;
            out.copy_from_slice(&pixel);
        }
        for beyond in row.iter_mut().rev().take(2) {
            *beyond = nothing;
        }
        self.once = row;
    }
}

/// Adds a span of this height (of a row of pixels; negative to take away) to a row's changes.
#[inline]
fn change<T: Sum>(row: &mut [Sums<T>], span: &Span, height: f32, light: Sums<T>) {
    let first = span.left as usize;
    let last = span.right as usize;
    // 1.5 · 2^23 added leaves the rounded number in the low bits: one instruction where rounding is a call.
    let rounded = |value: f32| (value + 12_582_912.0).to_bits() as i32 - 0x4b40_0000;
    let coverage = |part: f32| rounded(part * height * WHOLE);
    if first == last {
        let inside = coverage(span.right - span.left);
        add(row, first, inside, light);
        add(row, first + 1, -inside, light);
        return;
    }
    let whole = coverage(1.0);
    let begin = coverage((first + 1) as f32 - span.left);
    let end = coverage(span.right - last as f32);
    add(row, first, begin, light);
    add(row, first + 1, whole - begin, light);
    add(row, last, end - whole, light);
    add(row, last + 1, -end, light);
}

#[inline]
fn add<T: Sum>(row: &mut [Sums<T>], at: usize, coverage: i32, light: Sums<T>) {
    if let Some(sums) = row.get_mut(at) {
        for (sum, light) in sums.iter_mut().zip(light) {
            *sum = sum.plus(T::of(coverage).times(light));
        }
    }
}
