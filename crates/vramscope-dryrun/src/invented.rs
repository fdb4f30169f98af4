//! Everything the stand-in cannot know: each value, how far it may be off, and what it is based on. Nothing is invented
//! anywhere else.

use serde::Serialize;

const MIB: u64 = 1 << 20;

/// What a value is based on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The manufacturer's documentation.
    Documented,
    /// A measurement on somebody's card.
    Measured,
    /// Nothing.
    Guessed,
}

/// A value that only a real card's libraries know, and how far it can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Invented {
    /// What the value is, in words for users.
    pub what: &'static str,
    /// The value in bytes.
    pub bytes: u64,
    /// How far it may be off, in bytes, as far as is known.
    pub spread_bytes: u64,
    pub basis: Basis,
    /// The basis in words.
    pub why: &'static str,
}

/// What CUDA's context takes of a card before the first tensor, including the kernels that it loads.
///
/// The measured values come from users' out-of-memory messages: the process's memory less what PyTorch had allocated
/// and reserved.
#[must_use]
pub const fn context(capability: u32) -> Invented {
    let (mib, basis, why) = match capability {
        75 => (147, Basis::Measured, "one message from a T4"),
        80 => (504, Basis::Measured, "one message from an A100 40 GB"),
        86 => (465, Basis::Measured, "one message from an RTX A6000"),
        90 => (601, Basis::Measured, "one message from an H100 PCIe"),
        _ => (500, Basis::Guessed, "as on cards of about that age"),
    };
    Invented {
        what: "CUDA's context and kernels",
        bytes: mib * MIB,
        spread_bytes: 150 * MIB,
        basis,
        why,
    }
}

/// What cuDNN asks for in each convolution.
pub(crate) const CUDNN_WORKSPACE: Invented = Invented {
    what: "cuDNN's workspace of a convolution",
    bytes: 24 * MIB,
    spread_bytes: 1024 * MIB,
    basis: Basis::Guessed,
    why: "it depends on the algorithm that cuDNN chooses on the card",
};

/// What cuDNN keeps of a recurrent layer for the backward pass, beyond the assumed one number for each gate and state
/// of each step.
const CUDNN_RESERVE: Invented = Invented {
    what: "cuDNN's reserve of recurrent layers, beyond gates and states",
    bytes: 0,
    spread_bytes: 1024 * MIB,
    basis: Basis::Guessed,
    why: "it depends on the algorithm that cuDNN chooses on the card",
};

/// What the other libraries ask for in each call.
const OTHER_WORKSPACES: Invented = Invented {
    what: "workspaces of cuFFT, cuSOLVER and cuSPARSE",
    bytes: 0,
    spread_bytes: 1024 * MIB,
    basis: Basis::Guessed,
    why: "decompositions, and sizes with large prime factors, need some",
};

/// NCCL's buffers, which are not torch's memory.
const NCCL: Invented = Invented {
    what: "NCCL's buffers",
    bytes: 0,
    spread_bytes: 1024 * MIB,
    basis: Basis::Guessed,
    why: "some hundred MiB for each communicator, by its channels",
};

/// Values that are invented only for programs that ask for them, in the order in which the stand-in counts them.
pub const ON_REQUEST: [Invented; 4] = [CUDNN_WORKSPACE, CUDNN_RESERVE, OTHER_WORKSPACES, NCCL];
