//! Limits on the cost of a file. A file that exceeds them is refused.

/// Limits of decoding, whatever a file claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest size after unwrapping, in bytes. Stops decompression bombs.
    pub decoded_bytes: u64,
    /// Heap bytes that decoding may hold besides input buffers: the larger of this and
    /// [`memory_per_decoded_byte`](Self::memory_per_decoded_byte) × the bytes read so far applies.
    pub memory_bytes: usize,
    /// See [`memory_bytes`](Self::memory_bytes). Genuine files need about 1.
    pub memory_per_decoded_byte: usize,
    /// Deepest nesting of lists and dicts. Genuine files need 8.
    pub depth: usize,
    /// Longest single string or number in bytes.
    pub string_bytes: usize,
    /// Most containers inside each other.
    pub containers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            decoded_bytes: 64 << 30,
            memory_bytes: 256 << 20,
            memory_per_decoded_byte: 8,
            depth: 64,
            string_bytes: 256 << 20,
            containers: 4,
        }
    }
}
