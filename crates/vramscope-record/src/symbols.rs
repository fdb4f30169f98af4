//! The interface between addresses and functions, files and lines. Its implementation needs files, so it is
//! elsewhere.

/// An executable or library as mapped when a stack was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedModule {
    /// Path on the recorded machine. Invalid UTF-8 is replaced.
    pub path: String,
    /// GNU build id; empty if it has no build id.
    pub build_id: Vec<u8>,
    /// Added to the file's virtual addresses to get addresses in the process.
    pub load_bias: u64,
    /// First address of its executable part.
    pub start: u64,
    /// End of its executable part, exclusive.
    pub end: u64,
}

/// A return address and its module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeAddress<'m> {
    /// Address in the recorded process.
    pub address: u64,
    /// `None` for code outside all files, such as generated code.
    pub module: Option<&'m LoadedModule>,
}

/// A named frame, as in snapshots.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceFrame {
    /// Demangled name; the address as `0x…` if unknown.
    pub function: String,
    /// Source file, else the module's path; `??` if neither is known.
    pub file: String,
    /// Line number from 1; 0 if unknown.
    pub line: u32,
}

impl SourceFrame {
    /// A frame for an address about which nothing else is known.
    #[must_use]
    pub fn nameless(address: u64) -> Self {
        Self {
            function: format!("{address:#x}"),
            file: "??".to_owned(),
            line: 0,
        }
    }
}

/// Names the frames of stacks.
pub trait Symbols {
    /// The frames of a stack, innermost first. Inlined functions are separate frames.
    fn frames(&mut self, stack: &[CodeAddress<'_>]) -> Vec<SourceFrame>;

    /// Remarks for the reader of the snapshot, one line each: which code could not be named, and what would help.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Names no function: each frame is its address. For callers that have no files to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSymbols;

impl Symbols for NoSymbols {
    fn frames(&mut self, stack: &[CodeAddress<'_>]) -> Vec<SourceFrame> {
        let addresses = stack.iter().map(|code| code.address);
        addresses.map(SourceFrame::nameless).collect()
    }
}
