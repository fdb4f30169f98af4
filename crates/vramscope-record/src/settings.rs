//! Capture settings. The command line passes them to the injected library in one environment variable.

/// Name of the environment variable. Programs that are not captured do not have it.
pub const VARIABLE: &str = "VRAMSCOPE_CAPTURE";

/// What to record, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Absolute path of the folder for logs.
    pub folder: String,
    /// Bytes of records that a log can hold at a time.
    pub capacity_bytes: u64,
    /// Whether the starting process consumes records while the program runs. The program may then write far more
    /// than `capacity_bytes` in all.
    pub is_followed: bool,
    /// Whether recording starts at once. Otherwise `vramscope_api::start` starts it.
    pub starts_on: bool,
    /// Maximum number of frames of a stack; 0 disables stacks.
    pub depth: u32,
    /// Whether frees have stacks too.
    pub free_stacks: bool,
    /// Whether to record pinned host memory.
    pub host: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            folder: String::new(),
            capacity_bytes: 1 << 30,
            is_followed: false,
            starts_on: true,
            depth: 64,
            free_stacks: true,
            host: false,
        }
    }
}

impl Settings {
    /// Formats the value of [`VARIABLE`]: `capacity=…,followed=…,on=…,depth=…,free_stacks=…,host=…,folder=…`. The
    /// folder comes last, as it may contain anything.
    #[must_use]
    pub fn to_variable(&self) -> String {
        format!(
            "capacity={},followed={},on={},depth={},free_stacks={},host={},folder={}",
            self.capacity_bytes,
            u8::from(self.is_followed),
            u8::from(self.starts_on),
            self.depth,
            u8::from(self.free_stacks),
            u8::from(self.host),
            self.folder
        )
    }

    /// Parses the output of [`to_variable`](Self::to_variable). `None` for any other text.
    #[must_use]
    pub fn of_variable(text: &str) -> Option<Self> {
        let (numbers, folder) = text.split_once(",folder=")?;
        let mut settings = Self {
            folder: folder.to_owned(),
            ..Self::default()
        };
        for entry in numbers.split(',') {
            let (key, value) = entry.split_once('=')?;
            let value: u64 = value.parse().ok()?;
            match key {
                "capacity" => settings.capacity_bytes = value,
                "followed" => settings.is_followed = value != 0,
                "on" => settings.starts_on = value != 0,
                "depth" => settings.depth = u32::try_from(value).ok()?,
                "free_stacks" => settings.free_stacks = value != 0,
                "host" => settings.host = value != 0,
                _ => return None,
            }
        }
        Some(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_carries_everything() {
        let settings = Settings {
            folder: "/tmp/a,folder=b=c".to_owned(),
            capacity_bytes: 7,
            is_followed: true,
            starts_on: false,
            depth: 3,
            free_stacks: false,
            host: true,
        };
        let text = settings.to_variable();
        assert_eq!(Settings::of_variable(&text), Some(settings));
        assert_eq!(Settings::of_variable("depth=x,folder=/"), None);
        assert_eq!(Settings::of_variable(""), None);
    }
}
