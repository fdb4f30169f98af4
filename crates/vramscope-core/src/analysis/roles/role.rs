//! The roles, and how certain they are.

use serde::{Deserialize, Serialize};

/// What an allocation is for.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Weights and buffers of a model.
    Parameter,
    /// Gradients of parameters.
    Gradient,
    /// Memory that the optimizer keeps between steps.
    OptimizerState,
    /// Kept by the forward pass for the backward pass; also outputs.
    Activation,
    /// Keys and values of earlier tokens.
    KvCache,
    /// Data that the model reads.
    Input,
    /// Buffers of collectives.
    Communication,
    /// Scratch memory of cuBLAS, cuDNN and the like.
    Workspace,
    /// Freed within the phase that made it.
    Temporary,
    /// The evidence is missing, or contradicts itself.
    #[default]
    Unknown,
}

impl Role {
    /// All roles, in the order in which they are stacked and listed: the longest-lived come first.
    pub const ALL: [Self; 10] = [
        Self::Parameter,
        Self::Gradient,
        Self::OptimizerState,
        Self::Activation,
        Self::KvCache,
        Self::Input,
        Self::Communication,
        Self::Workspace,
        Self::Temporary,
        Self::Unknown,
    ];

    /// Its name in all outputs and in searches.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Gradient => "gradient",
            Self::OptimizerState => "optimizer_state",
            Self::Activation => "activation",
            Self::KvCache => "kv_cache",
            Self::Input => "input",
            Self::Communication => "communication",
            Self::Workspace => "workspace",
            Self::Temporary => "temporary",
            Self::Unknown => "unknown",
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub fn ordinal(self) -> usize {
        self as usize
    }

    /// The role in a user's words: `activation`, `activations`, `kv-cache`; `None` for other words.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
        let one = match text.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => text.strip_suffix('s').unwrap_or(&text).to_owned(),
        };
        let mut all = Self::ALL.into_iter();
        all.find(|role| role.word() == text || role.word() == one)
    }

    /// Its name in sentences and headings.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::OptimizerState => "optimizer state",
            Self::KvCache => "KV cache",
            role => role.word(),
        }
    }

    /// The role meant by a category of torch's profiler; `None` if it has none.
    #[must_use]
    pub(super) fn of_category(category: &str) -> Option<Self> {
        match category {
            // Gradients of activations, and intermediate results of autograd.
            "autograd_detail" => Some(Self::Temporary),
            "unknown" => None,
            word => Self::ALL.into_iter().find(|role| role.word() == word),
        }
    }
}

/// How certain a role is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Other explanations are possible.
    Guess,
    /// Other explanations are unusual.
    Likely,
    /// The file says so, or the code that made it has no other purpose.
    Certain,
}

impl Confidence {
    /// All levels, the least certain first.
    pub const ALL: [Self; 3] = [Self::Guess, Self::Likely, Self::Certain];

    /// Its name in all outputs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Guess => "guess",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// The role of an allocation, and the reason for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoleFinding {
    /// The role.
    pub role: Role,
    /// How sure it is.
    pub confidence: Confidence,
    /// The evidence, as a sentence.
    pub because: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_by_name() {
        for role in Role::ALL {
            assert_eq!(Role::named(role.word()), Some(role));
        }
        assert_eq!(Role::named("activations"), Some(Role::Activation));
        assert_eq!(Role::named("Temporaries"), Some(Role::Temporary));
        assert_eq!(Role::named("KV-cache"), Some(Role::KvCache));
        assert_eq!(Role::named("weights"), None);
    }
}
