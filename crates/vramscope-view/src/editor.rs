//! Links that open a frame's source in the user's editor or repository, from a pattern that the
//! user sets.
//!
//! A pattern is a URL with `{path}` and `{line}` in it. Swaps map folders of the machine that
//! recorded to folders of the user's machine. File names come from snapshots, which may come from
//! anyone. They are therefore percent-encoded and cannot change the host of a pattern; and patterns
//! may only open web pages and known editors, never anything that runs a program.

use std::fmt;

/// URL schemes of editors, allowed besides `http` and `https`.
const EDITOR_SCHEMES: [&str; 26] = [
    "antigravity",
    "atom",
    "clion",
    "cursor",
    "editor",
    "emacs",
    "fleet",
    "goland",
    "idea",
    "jetbrains",
    "kate",
    "mvim",
    "nova",
    "nvim",
    "org-protocol",
    "phpstorm",
    "pycharm",
    "positron",
    "sublime",
    "subl",
    "txmt",
    "vscode",
    "vscode-insiders",
    "vscodium",
    "windsurf",
    "zed",
];

/// Suggested patterns, each with the name of its editor or site.
pub const PRESETS: [(&str, &str); 7] = [
    ("VS Code", "vscode://file/{path}:{line}"),
    ("Cursor", "cursor://file/{path}:{line}"),
    ("PyCharm", "pycharm://open?file={path}&line={line}"),
    ("IntelliJ IDEA", "idea://open?file={path}&line={line}"),
    ("Zed", "zed://file/{path}:{line}"),
    ("Sublime Text", "subl://open?url=file://{path}&line={line}"),
    (
        "GitHub",
        "https://github.com/OWNER/REPOSITORY/blob/main/{path}#L{line}",
    ),
];

/// Longer file names get no link, in bytes.
const PATH_LIMIT_BYTES: usize = 4096;

/// Why a pattern or a swap is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern has no `{path}`.
    NoPath,
    /// The pattern does not begin with a scheme and `://`.
    NoScheme,
    /// The scheme is neither the web's nor a known editor's.
    RefusedScheme(String),
    /// No host precedes the first `{…}`, so a file name could change it.
    PathTooEarly,
    /// The pattern has a space or a control character.
    Space,
    /// The pattern has an unknown field in `{…}`.
    UnknownField(String),
    /// A swap has no `=>`, or nothing before it.
    Swap(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPath => f.write_str("{path} is missing: it is where the file's name goes"),
            Self::NoScheme => f.write_str("it must begin like vscode:// or https://"),
            Self::RefusedScheme(scheme) => write!(
                f,
                "{scheme}: is refused; only web pages (https) and known editors are opened, e.g. vscode, cursor, \
                 zed, pycharm, idea, subl, txmt, emacs, mvim"
            ),
            Self::PathTooEarly => f.write_str(
                "a name and / (or ?) must stand between :// and {path}, as in vscode://file/{path}",
            ),
            Self::Space => f.write_str("addresses have no spaces; write %20"),
            Self::UnknownField(field) => {
                write!(
                    f,
                    "{field} is unknown; there are {{path}}, {{line}} and {{column}}"
                )
            }
            Self::Swap(line) => write!(f, "“{line}” is not of the form /old/folder=>/new/folder"),
        }
    }
}

impl std::error::Error for PatternError {}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Path,
    Line,
    Column,
}

/// A parsed pattern with its swaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorLinks {
    pieces: Vec<Piece>,
    /// Folder at the start of a path → its replacement; the first that matches is used.
    swaps: Vec<(String, String)>,
    is_web: bool,
}

impl EditorLinks {
    /// Parses a pattern such as `vscode://file/{path}:{line}`, and swaps such as `/root/repo=>`,
    /// one per line. Empty lines are skipped; the first swap that matches is used.
    ///
    /// # Errors
    /// If the pattern or a swap is malformed, or the pattern's scheme is not allowed.
    pub fn parse(pattern: &str, swaps: &str) -> Result<Self, PatternError> {
        let pattern = pattern.trim();
        let (scheme, rest) = pattern.split_once("://").ok_or(PatternError::NoScheme)?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme.is_empty() || scheme.contains(|c: char| !is_of_scheme(c)) {
            // `javascript:x://` has an inner scheme; the outer one is reported.
            return Err(match scheme.split_once(':') {
                Some((scheme, _)) => PatternError::RefusedScheme(scheme.to_owned()),
                None => PatternError::NoScheme,
            });
        }
        let is_web = matches!(scheme.as_str(), "http" | "https");
        if !is_web && !EDITOR_SCHEMES.contains(&scheme.as_str()) {
            return Err(PatternError::RefusedScheme(scheme));
        }
        if pattern.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(PatternError::Space);
        }
        let host = rest.split(['/', '?', '#', '{']).next().unwrap_or_default();
        if host.is_empty() || rest[host.len()..].starts_with('{') {
            return Err(PatternError::PathTooEarly);
        }
        let pieces = pieces(pattern)?;
        if !pieces.contains(&Piece::Path) {
            return Err(PatternError::NoPath);
        }
        Ok(Self {
            pieces,
            swaps: parse_swaps(swaps)?,
            is_web,
        })
    }

    /// Whether links open a web page; these open in another tab.
    #[must_use]
    pub fn is_web(&self) -> bool {
        self.is_web
    }

    /// The link to a line of a file; lines count from 1, and 0 is unknown. `None` if it is no file
    /// name (`??`, `<string>`). Also `None` if the pattern is a web page and no swap matches: such
    /// a file is not in the repository.
    #[must_use]
    pub fn link(&self, filename: &str, line: u32) -> Option<String> {
        let path = path_of(filename)?;
        let swapped = self.swaps.iter().find_map(|swap| swap_in(&path, swap));
        let path = match swapped {
            Some(swapped) => swapped,
            None if self.is_web && !self.swaps.is_empty() => return None,
            None => path,
        };
        if self.is_web && path.split('/').any(|part| part == "..") {
            return None;
        }
        let mut address = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => address.push_str(text),
                Piece::Path => {
                    let follows_slash = address.ends_with('/') && !address.ends_with("://");
                    let path = path
                        .strip_prefix('/')
                        .filter(|_| follows_slash)
                        .unwrap_or(&path);
                    push_encoded(&mut address, path);
                }
                Piece::Line => address.push_str(&line.max(1).to_string()),
                Piece::Column => address.push('1'),
            }
        }
        Some(address)
    }
}

fn is_of_scheme(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

fn pieces(pattern: &str) -> Result<Vec<Piece>, PatternError> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(open) = rest.find('{') {
        let close = rest[open..].find('}').map(|close| open + close);
        let field = &rest[open..close.map_or(rest.len(), |close| close + 1)];
        pieces.push(Piece::Text(rest[..open].to_owned()));
        pieces.push(match field {
            "{path}" | "{file}" => Piece::Path,
            "{line}" => Piece::Line,
            "{column}" => Piece::Column,
            _ => return Err(PatternError::UnknownField(field.to_owned())),
        });
        rest = &rest[open + field.len()..];
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

fn parse_swaps(swaps: &str) -> Result<Vec<(String, String)>, PatternError> {
    let lines = swaps.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (from, to) = line.split_once("=>").unwrap_or_default();
            let (from, to) = (from.trim().replace('\\', "/"), to.trim().replace('\\', "/"));
            if from.is_empty() {
                return Err(PatternError::Swap(line.to_owned()));
            }
            Ok((from, to))
        })
        .collect()
}

/// The path with its folder swapped, if it lies in that folder.
fn swap_in(path: &str, (from, to): &(String, String)) -> Option<String> {
    let rest = path.strip_prefix(from.as_str())?;
    let ends_whole = from.ends_with('/') || rest.starts_with('/') || rest.is_empty();
    ends_whole.then(|| format!("{to}{rest}"))
}

/// A file name with forward slashes; `None` if it names no file.
fn path_of(filename: &str) -> Option<String> {
    let is_none = matches!(filename, "" | "??" | "none" | "~") || filename.starts_with('<');
    if is_none || filename.len() > PATH_LIMIT_BYTES || filename.contains(char::is_control) {
        return None;
    }
    let drive = filename.as_bytes().get(1) == Some(&b':');
    Some(if drive || !filename.contains('/') {
        filename.replace('\\', "/")
    } else {
        filename.to_owned()
    })
}

/// Appends a path, percent-encoded except for unreserved characters, slashes and the colon of a
/// Windows drive.
fn push_encoded(address: &mut String, path: &str) {
    use fmt::Write as _;
    for (index, &byte) in path.as_bytes().iter().enumerate() {
        let is_drive = byte == b':' && index == 1;
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) || is_drive {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(pattern: &str, swaps: &str, file: &str) -> Option<String> {
        EditorLinks::parse(pattern, swaps).unwrap().link(file, 7)
    }

    fn error(pattern: &str) -> PatternError {
        EditorLinks::parse(pattern, "").unwrap_err()
    }

    #[test]
    fn editors() {
        let file = "/home/ann/my code/train.py";
        for (pattern, expected) in [
            (
                "vscode://file/{path}:{line}",
                "vscode://file/home/ann/my%20code/train.py:7",
            ),
            (
                "vscode://file/{path}:{line}:{column}",
                "vscode://file/home/ann/my%20code/train.py:7:1",
            ),
            (
                "idea://open?file={path}&line={line}",
                "idea://open?file=/home/ann/my%20code/train.py&line=7",
            ),
            (
                "subl://open?url=file://{path}&line={line}",
                "subl://open?url=file:///home/ann/my%20code/train.py&line=7",
            ),
        ] {
            assert_eq!(link(pattern, "", file).as_deref(), Some(expected));
        }
        let windows = link("vscode://file/{path}:{line}", "", r"C:\code\a b.py");
        assert_eq!(windows.as_deref(), Some("vscode://file/C:/code/a%20b.py:7"));
        for (_, preset) in PRESETS {
            assert!(link(preset, "", file).is_some(), "{preset}");
        }
    }

    #[test]
    fn folders_are_swapped_at_their_ends() {
        let pattern = "https://github.com/o/r/blob/main/{path}#L{line}";
        let swaps = "/root/repo=>\n\n/opt/venv/torch => torch";
        let github = |file| link(pattern, swaps, file);
        assert_eq!(
            github("/root/repo/a/b.py").as_deref(),
            Some("https://github.com/o/r/blob/main/a/b.py#L7")
        );
        assert_eq!(
            github("/opt/venv/torch/nn.py").as_deref(),
            Some("https://github.com/o/r/blob/main/torch/nn.py#L7")
        );
        assert_eq!(github("/root/repository/b.py"), None, "another folder");
        assert_eq!(
            github("/usr/lib/python3/ast.py"),
            None,
            "not in the repository"
        );
        assert_eq!(github("/root/repo/../../x/y/b.py"), None, "nor this");
        let editor = |file| link("vscode://file/{path}", "/root/=>/home/ann/", file);
        assert_eq!(
            editor("/root/a.py").as_deref(),
            Some("vscode://file/home/ann/a.py")
        );
        assert_eq!(
            editor("/usr/a.py").as_deref(),
            Some("vscode://file/usr/a.py")
        );
        let windows = link(
            "vscode://file/{path}",
            r"C:\work=>/home/ann",
            r"C:\work\a.py",
        );
        assert_eq!(windows.as_deref(), Some("vscode://file/home/ann/a.py"));
    }

    #[test]
    fn file_names_cannot_change_where_a_pattern_leads() {
        let file = "/x?y#z&line=1/{line}/%2e%2e/\"><script>:é.py";
        assert_eq!(
            link("https://example.org/{path}", "", file).as_deref(),
            Some(
                "https://example.org/x%3Fy%23z%26line%3D1/%7Bline%7D/%252e%252e/%22%3E%3Cscript%3E%3A%C3%A9.py"
            )
        );
        for pattern in [
            "https://{path}",
            "https://x{path}",
            "vscode://{path}:{line}",
            "https:///{path}",
        ] {
            assert_eq!(error(pattern), PatternError::PathTooEarly, "{pattern}");
        }
    }

    #[test]
    fn names_that_are_no_files_have_no_link() {
        let long = "x".repeat(5000);
        for file in [
            "",
            "??",
            "none",
            "<string>",
            "<frozen runpy>",
            "a\nb",
            &long,
        ] {
            assert_eq!(link("vscode://file/{path}", "", file), None, "{file}");
        }
    }

    #[test]
    fn what_runs_is_refused() {
        for pattern in [
            "javascript:alert('{path}')",
            "javascript://x/%0aalert({path})",
            "JavaScript://x/{path}",
            "javascript:x://y/{path}",
            "data://text/html,{path}",
            "file://x/{path}",
            "vbscript://x/{path}",
            "blob://x/{path}",
            "view-source://x/{path}",
            "java\tscript://x/{path}",
            " \u{1}javascript://x/{path}",
        ] {
            let error = error(pattern);
            let is_refused = matches!(
                error,
                PatternError::RefusedScheme(_) | PatternError::NoScheme
            );
            assert!(is_refused, "{pattern}: {error:?}");
        }
    }

    #[test]
    fn mistakes_are_told_in_words() {
        assert_eq!(error("vscode"), PatternError::NoScheme);
        assert_eq!(error("vscode://file/x"), PatternError::NoPath);
        assert_eq!(error("vscode://file/a {path}"), PatternError::Space);
        assert_eq!(
            error("vscode://file/{path}:{row}").to_string(),
            "{row} is unknown; there are {path}, {line} and {column}"
        );
        assert_eq!(
            error("vscode://file/{path}:{li"),
            PatternError::UnknownField("{li".to_owned())
        );
        let swap = EditorLinks::parse("vscode://file/{path}", "/a/b").unwrap_err();
        assert_eq!(swap, PatternError::Swap("/a/b".to_owned()));
        assert!(
            error("file://x/{path}")
                .to_string()
                .starts_with("file: is refused")
        );
    }
}
