//! The program that wrote a snapshot. It decides the keys, their order, and whether addresses are signed.

use std::fmt;
use std::str::FromStr;

use crate::pickle::Dialect;

/// A producer of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Producer {
    /// torch of this version, from Python. Known to differ: 1.13, 2.0, 2.1, 2.2, 2.3, 2.5, 2.8,
    /// 2.10, 2.11, 2.12, 2.14, 2.15.
    Python(u8, u8),
    /// `torch::cuda::_memory_snapshot_pickled` of torch 2.15.
    Cpp,
    /// `torch.xpu.memory._snapshot` of torch 2.11.
    Xpu,
    /// `_profile_to_snapshot` of torch 2.1 and later.
    Profile,
}

impl Producer {
    /// Every producer whose files differ from the others'.
    pub const ALL: [Self; 15] = [
        Self::Python(1, 13),
        Self::Python(2, 0),
        Self::Python(2, 1),
        Self::Python(2, 2),
        Self::Python(2, 3),
        Self::Python(2, 5),
        Self::Python(2, 8),
        Self::Python(2, 10),
        Self::Python(2, 11),
        Self::Python(2, 12),
        Self::Python(2, 14),
        Self::Python(2, 15),
        Self::Cpp,
        Self::Xpu,
        Self::Profile,
    ];

    /// Whether this is torch's CUDA allocator at `major.minor` or later.
    #[must_use]
    pub fn since(self, major: u8, minor: u8) -> bool {
        match self {
            Self::Python(a, b) => (a, b) >= (major, minor),
            Self::Cpp => (2, 15) >= (major, minor),
            Self::Xpu | Self::Profile => false,
        }
    }

    /// Whether blocks have the key `history` (1.13 and 2.0).
    #[must_use]
    pub fn is_legacy(self) -> bool {
        matches!(self, Self::Python(a, b) if (a, b) <= (2, 0))
    }

    /// Whether addresses of 2^63 and more are written as negative numbers.
    #[must_use]
    pub fn has_signed_addresses(self) -> bool {
        match self {
            Self::Python(a, b) => (a, b) <= (2, 3),
            Self::Cpp => true,
            Self::Xpu | Self::Profile => false,
        }
    }

    /// The producer's default pickler.
    #[must_use]
    pub fn default_dialect(self) -> Dialect {
        match self {
            Self::Cpp => Dialect::Cpp,
            _ => Dialect::Python(4),
        }
    }
}

impl fmt::Display for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python(major, minor) => write!(f, "{major}.{minor}"),
            Self::Cpp => f.write_str("cpp"),
            Self::Xpu => f.write_str("xpu"),
            Self::Profile => f.write_str("profile"),
        }
    }
}

/// The error for a text that names no producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProducer(String);

impl fmt::Display for UnknownProducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no producer is called {:?}: say 2.8, cpp, xpu or profile",
            self.0
        )
    }
}

impl std::error::Error for UnknownProducer {}

impl FromStr for Producer {
    type Err = UnknownProducer;

    fn from_str(text: &str) -> Result<Self, UnknownProducer> {
        let unknown = || UnknownProducer(text.to_owned());
        match text {
            "cpp" => Ok(Self::Cpp),
            "xpu" => Ok(Self::Xpu),
            "profile" => Ok(Self::Profile),
            version => {
                let (major, minor) = version.split_once('.').ok_or_else(unknown)?;
                match (major.parse(), minor.parse()) {
                    (Ok(major), Ok(minor)) => Ok(Self::Python(major, minor)),
                    _ => Err(unknown()),
                }
            }
        }
    }
}
