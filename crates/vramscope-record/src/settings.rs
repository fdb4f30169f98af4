//! How a capture is to be made: from the command line to the injected library by one environment variable.

/// The variable: absent in programs that are not captured.
pub const VARIABLE: &str = "VRAMSCOPE_CAPTURE";

/// What to record, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The folder that logs are made in. Absolute.
    pub folder: String,
    /// Room for records in a log, in bytes.
    pub capacity_bytes: u64,
    /// Whether whoever started the program takes records over while it runs, so that far more than
    /// `capacity_bytes` may be written in the end.
    pub is_followed: bool,
    /// Whether recording begins at once; else `vramscope_api::start` begins it.
    pub starts_on: bool,
    /// The most frames of a stack; 0 for no stacks.
    pub depth: u32,
    /// Whether frees get stacks too.
    pub free_stacks: bool,
    /// Whether pinned host memory is recorded.
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
    /// The value of [`VARIABLE`]: `capacity=…,followed=…,on=…,depth=…,free_stacks=…,host=…,folder=…`. The folder stands last,
    /// for it may hold anything.
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

    /// What [`to_variable`](Self::to_variable) made; `None` for anything else.
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
