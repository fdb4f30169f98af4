//! Opcodes one by one, for streams that no genuine producer writes.

use super::op;

/// An unchecked pickle under construction. Each method appends one opcode and its argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    bytes: Vec<u8>,
}

impl Raw {
    /// An empty stream: not even a protocol header.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A stream that opens with `PROTO protocol`.
    #[must_use]
    pub fn proto(protocol: u8) -> Self {
        Self::new().op(op::PROTO).bytes(&[protocol])
    }

    /// Appends an opcode without argument.
    #[must_use]
    pub fn op(mut self, opcode: u8) -> Self {
        self.bytes.push(opcode);
        self
    }

    /// Appends raw bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends `times` copies of one opcode.
    #[must_use]
    pub fn repeat(mut self, opcode: u8, times: usize) -> Self {
        self.bytes.resize(self.bytes.len() + times, opcode);
        self
    }

    /// Appends an opcode with a little-endian u32 argument.
    #[must_use]
    pub fn op_u32(self, opcode: u8, argument: u32) -> Self {
        self.op(opcode).bytes(&argument.to_le_bytes())
    }

    /// Appends an opcode with a little-endian u64 argument.
    #[must_use]
    pub fn op_u64(self, opcode: u8, argument: u64) -> Self {
        self.op(opcode).bytes(&argument.to_le_bytes())
    }

    /// Appends a string by SHORT_BINUNICODE (its length is cut to 255 bytes, its text is not).
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.op(op::SHORT_BINUNICODE)
            .bytes(&[text.len().min(255) as u8])
            .bytes(text.as_bytes())
    }

    /// Appends a small int.
    #[must_use]
    pub fn int1(self, value: u8) -> Self {
        self.op(op::BININT1).bytes(&[value])
    }

    /// Appends an int as LONG1 with these little-endian bytes.
    #[must_use]
    pub fn long1(self, little_endian: &[u8]) -> Self {
        self.op(op::LONG1)
            .bytes(&[little_endian.len() as u8])
            .bytes(little_endian)
    }

    /// Appends BINPUT: the stack's top becomes memo entry `index`.
    #[must_use]
    pub fn binput(self, index: u8) -> Self {
        self.op(op::BINPUT).bytes(&[index])
    }

    /// Appends BINGET: pushes memo entry `index`.
    #[must_use]
    pub fn binget(self, index: u8) -> Self {
        self.op(op::BINGET).bytes(&[index])
    }

    /// Appends STOP and returns the stream.
    #[must_use]
    pub fn stop(self) -> Vec<u8> {
        self.op(op::STOP).bytes
    }

    /// Returns the stream without STOP, so that it is cut off.
    #[must_use]
    pub fn cut(self) -> Vec<u8> {
        self.bytes
    }
}
