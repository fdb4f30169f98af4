//! How much of each pixel is covered by rectangles, in one pass over the rows of pixels.
//!
//! A rectangle covers a pixel by the product of the covered parts of its column and its row. Along
//! a row, coverage therefore changes at no more than four pixels: two at each end. Only these
//! changes are stored, and a running sum turns them into pixels. A rectangle is visited only in the
//! row where it begins and in the row where it ends, so a picture costs O(rectangles + pixels)
//! whatever their sizes. All sums are integers, so what was added is subtracted again exactly.

/// The coverage of a whole pixel. With 12 bits of light, sums of up to 16 layers fit into 31 bits.
pub(crate) const WHOLE: f32 = 32_768.0;
/// The end of a linked list of spans.
const END: u32 = u32::MAX;

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

/// A rectangle in px of the picture, clipped to it; y grows downwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) top: f32,
    pub(crate) bottom: f32,
    /// The shade it is drawn with; the caller maps it to light.
    pub(crate) shade: u32,
    /// The next span to visit in the same row.
    next: u32,
}

/// Sums up rectangles; keeps its working memory between pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage<T> {
    spans: Vec<Span>,
    /// Per row of pixels, the first span to visit there.
    first: Vec<u32>,
    width_px: usize,
    /// Changes from pixel to pixel that hold for the current row only, and those that hold from it
    /// on.
    once: Vec<Sums<T>>,
    on: Vec<Sums<T>>,
}

impl<T: Sum> Coverage<T> {
    /// Starts a picture of this size, without rectangles.
    pub(crate) fn begin(&mut self, width_px: u32, height_px: u32) {
        self.width_px = width_px as usize;
        self.spans.clear();
        self.first.clear();
        self.first.resize(height_px as usize, END);
    }

    /// Adds a rectangle that is already clipped to the picture, and returns its number for
    /// [`Coverage::span`]; `None` if it is empty or below the picture.
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
        // `top` may equal the height of the picture; then there is no such row.
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

    /// Turns the rectangles into pixels of R, G, B, A, row by row from the top. `light` is what a
    /// whole pixel of a shade adds to the sums; `pixel` turns sums into a colour.
    pub(crate) fn pixels(
        &mut self,
        rgba: &mut [u8],
        light: impl Fn(u32) -> Sums<T>,
        pixel: impl Fn(Sums<T>) -> [u8; 4],
    ) {
        // Two more than pixels: changes may lie behind the last pixel and behind that one.
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

    /// Records the changes of row `y_px` due to a span that begins or ends in it.
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
            // A span that reaches the bottom of the picture needs no end.
            if let Some(first) = self.first.get_mut(end) {
                self.spans[id as usize].next = *first;
                *first = id;
            }
        } else {
            change(&mut self.on, span, -1.0, light);
            change(&mut self.once, span, rest, light);
        }
    }

    /// Turns the changes of this row into pixels, and clears them.
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
            // Cleared even if the sum is zero: the two changes may cancel each other.
            *once = nothing;
            out.copy_from_slice(&pixel);
        }
        for beyond in row.iter_mut().rev().take(2) {
            *beyond = nothing;
        }
        self.once = row;
    }
}

/// Adds a span to the changes of a row; `height` is the covered part of the row, negative to
/// subtract.
#[inline]
fn change<T: Sum>(row: &mut [Sums<T>], span: &Span, height: f32, light: Sums<T>) {
    let first = span.left as usize;
    let last = span.right as usize;
    // Adding 1.5 · 2^23 leaves the rounded number in the low bits. This takes one instruction,
    // where rounding would be a function call.
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
