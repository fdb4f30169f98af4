//! Parquet's encodings of integers: runs and packed bits, and differences.

/// Appends numbers of `width` bits, each with a repeat count, as runs of equal ones and packed groups of eight:
/// Parquet's hybrid for levels and dictionary indices.
pub(super) fn runs_or_bits(
    values: impl Iterator<Item = (u32, usize)>,
    width: u32,
    out: &mut Vec<u8>,
) {
    let mut runs = Runs {
        width,
        waiting: Vec::new(),
        out,
    };
    let (mut last, mut times) = (0, 0);
    for (value, more) in values {
        if value == last {
            times += more;
            continue;
        }
        runs.push(last, times);
        (last, times) = (value, more);
    }
    runs.push(last, times);
    runs.flush();
}

struct Runs<'a> {
    width: u32,
    /// Values waiting to be packed.
    waiting: Vec<u32>,
    out: &'a mut Vec<u8>,
}

impl Runs<'_> {
    #[inline]
    fn push(&mut self, value: u32, times: usize) {
        match times {
            // The usual case for values that do not repeat.
            1 => self.waiting.push(value),
            _ => self.push_run(value, times),
        }
    }

    fn push_run(&mut self, value: u32, times: usize) {
        // A run begins where a group of eight ends.
        let missing = self.waiting.len().wrapping_neg() & 7;
        let to_pack = if times >= 8 + missing { missing } else { times };
        self.waiting.extend(std::iter::repeat_n(value, to_pack));
        let rest = times - to_pack;
        if rest > 0 {
            self.flush();
            varint((rest as u64) << 1, self.out);
            let bytes = value.to_le_bytes();
            self.out
                .extend_from_slice(&bytes[..self.width.div_ceil(8) as usize]);
        }
    }

    fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let groups = self.waiting.len().div_ceil(8);
        self.waiting.resize(groups * 8, 0);
        varint((groups as u64) << 1 | 1, self.out);
        pack(self.waiting.drain(..).map(u64::from), self.width, self.out);
    }
}

/// Packs numbers, lowest bits first. In total they fill whole bytes.
fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut bits, mut count) = (0_u64, 0);
    for value in values {
        bits |= value << count;
        count += width;
        if count >= 64 {
            out.extend_from_slice(&bits.to_le_bytes());
            count -= 64;
            // The bits that did not fit; shifted in two steps, as it may be all 64.
            bits = value >> (width - count - 1) >> 1;
        }
    }
    let bytes = bits.to_le_bytes();
    out.extend_from_slice(&bytes[..count.div_ceil(8) as usize]);
}

/// Numbers in a block of differences, and in each of its four parts.
const BLOCK: usize = 128;
const PART: usize = BLOCK / 4;

/// Appends integers as differences from one to the next: DELTA_BINARY_PACKED.
pub(super) fn differences(values: &[i64], out: &mut Vec<u8>) {
    varint(BLOCK as u64, out);
    varint((BLOCK / PART) as u64, out);
    varint(values.len() as u64, out);
    varint(zigzag(values.first().copied().unwrap_or(0)), out);
    let mut block = [0; BLOCK];
    for start in (1..values.len()).step_by(BLOCK) {
        let pairs = values[start - 1..values.len().min(start + BLOCK)].windows(2);
        let count = pairs.len();
        for (difference, pair) in block.iter_mut().zip(pairs) {
            *difference = pair[1].wrapping_sub(pair[0]);
        }
        append_block(&mut block, count, out);
    }
}

/// Appends a block of `count` differences.
fn append_block(block: &mut [i64; BLOCK], count: usize, out: &mut Vec<u8>) {
    let least = block[..count].iter().copied().min().unwrap_or(0);
    // The last part is padded.
    block[count..].fill(least);
    let differences = &block[..count.next_multiple_of(PART)];
    varint(zigzag(least), out);
    let above = |&difference: &i64| difference.wrapping_sub(least).cast_unsigned();
    let mut widths = [0; BLOCK / PART];
    for (width, part) in widths.iter_mut().zip(differences.chunks(PART)) {
        let all = part.iter().map(above).fold(0, |all, one| all | one);
        *width = u64::BITS - all.leading_zeros();
    }
    out.extend(widths.map(|width| width as u8));
    for (width, part) in widths.into_iter().zip(differences.chunks(PART)) {
        pack(part.iter().map(above), width, out);
    }
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

/// 7 bits per byte, lowest first.
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number of bits needed for numbers up to `most`.
pub(super) fn width(most: usize) -> u32 {
    usize::BITS - most.leading_zeros()
}

/// Appends flags as bits.
pub(super) fn flags(values: &[bool], out: &mut Vec<u8>) {
    pack(values.iter().map(|&flag| flag.into()), 1, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a slow, obvious version that looks at each bit.
    #[test]
    fn numbers_of_any_width_are_packed() {
        for width in 0..=u64::BITS {
            let odd = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let cut = |n: u64| n.checked_shr(u64::BITS - width).unwrap_or(0);
            let numbers: Vec<u64> = (0..64).map(|n| cut(odd(n))).collect();
            let mut packed = Vec::new();
            pack(numbers.iter().copied(), width, &mut packed);
            assert_eq!(packed.len(), 8 * width as usize);
            let bit = |at: usize| u64::from(packed[at / 8] >> (at % 8) & 1);
            for (place, &number) in numbers.iter().enumerate() {
                let bits = (0..width as usize).map(|at| bit(place * width as usize + at) << at);
                assert_eq!(bits.sum::<u64>(), number, "{width}");
            }
        }
    }
}
