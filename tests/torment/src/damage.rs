//! Damages files: cuts, flips, moved blocks, other opcodes, extreme numbers.

use vramscope_synth::Rng;

/// Maximum size of a damaged file, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Opcodes of pickles with an operand of four bytes: BININT, BINPUT's and BINGET's long forms, lengths of texts.
const WITH_FOUR_BYTES: [u8; 6] = *b"JjrXTB";

/// Values at which programs break.
const EXTREMES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 48,
    i64::MAX as u64,
    u64::MAX,
];

/// Damages `bytes` once, in a random way. `other` is a file from which blocks may come.
pub(crate) fn damage(rng: &mut Rng, mut bytes: Vec<u8>, other: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let at = rng.below(bytes.len() as u64) as usize;
    let most = (bytes.len() - at).min(1 + rng.below(64) as usize);
    let to = at + most;
    match rng.below(11) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << rng.below(8),
        2 => bytes[at] = rng.bits() as u8,
        3 => bytes[at..to].fill(0),
        4 => drop(bytes.drain(at..to)),
        5 => {
            let block = bytes[at..to].to_vec();
            for _ in 0..=rng.below(30) {
                bytes.splice(at..at, block.iter().copied());
            }
        }
        6 => {
            let from = rng.below((bytes.len() - most + 1) as u64) as usize;
            let block = bytes[from..from + most].to_vec();
            bytes[at..to].copy_from_slice(&block);
        }
        7 => {
            let from = rng.below(other.len() as u64 + 1) as usize;
            let end = (from + rng.below(400) as usize).min(other.len());
            bytes.splice(at..to, other[from..end].iter().copied());
        }
        8 => bytes[at] = *rng.pick(
            b"(0129.FGIJKLMNRSTUVX]abcdeghijlopqrstu}\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x94\x95",
        ),
        9 => make_extreme(rng, &mut bytes, at),
        _ => {
            let digits = bytes[at..].iter().position(u8::is_ascii_digit);
            let at = at + digits.unwrap_or(0);
            let end = bytes[at..].iter().position(|byte| !byte.is_ascii_digit());
            let end = at + end.unwrap_or(0);
            bytes.splice(at..end, rng.pick(&EXTREMES).to_string().into_bytes());
        }
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

/// Makes the operand of the next opcode with four bytes extreme.
fn make_extreme(rng: &mut Rng, bytes: &mut [u8], from: usize) {
    let opcode = bytes[from..]
        .iter()
        .position(|byte| WITH_FOUR_BYTES.contains(byte));
    let operand = from + opcode.unwrap_or(0) + 1;
    let value = (*rng.pick(&EXTREMES) as u32).to_le_bytes();
    if let Some(place) = bytes.get_mut(operand..operand + value.len()) {
        place.copy_from_slice(&value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_can_be_damaged_and_the_same_seed_damages_alike() {
        for len in [0, 1, 2, 70, 5_000] {
            let file: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            for seed in 0..2_000 {
                let damaged = |seed| damage(&mut Rng::new(seed), file.clone(), b"other");
                assert_eq!(damaged(seed), damaged(seed));
            }
        }
    }
}
