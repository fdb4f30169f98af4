//! Which theme the user chose.

use vramscope_protocol::ThemeName;

/// The choice of a theme.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThemeChoice {
    /// Follows the system.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl ThemeChoice {
    /// The choice of this name; the system's if there is none.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }

    /// The next choice, going round. After the system's theme comes the other one, so that something changes.
    #[must_use]
    pub fn next(self, system_is_dark: bool) -> Self {
        let (other, same) = if system_is_dark {
            (Self::Light, Self::Dark)
        } else {
            (Self::Dark, Self::Light)
        };
        if self == Self::System {
            other
        } else if self == other {
            same
        } else {
            Self::System
        }
    }

    /// The theme to draw with, given the system's.
    #[must_use]
    pub fn resolve(self, system_is_dark: bool) -> ThemeName {
        match self {
            Self::System if system_is_dark => ThemeName::Dark,
            Self::Dark => ThemeName::Dark,
            Self::System | Self::Light => ThemeName::Light,
        }
    }
}
