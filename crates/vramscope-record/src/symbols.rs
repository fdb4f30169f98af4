//! What turns addresses into functions, files and lines: the interface, for it takes files to do it.

/// An object file as it was mapped when a stack was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedModule {
    /// Where it was on the machine that was recorded; not always UTF-8 there.
    pub path: String,
    /// GNU build id; empty without one.
    pub build_id: Vec<u8>,
    /// What is added to the file's virtual addresses.
    pub load_bias: u64,
    /// First address of its executable part.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
}

/// A return address, and in which module it lay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeAddress<'m> {
    /// In the program's memory.
    pub address: u64,
    /// `None` for code that no file holds.
    pub module: Option<&'m LoadedModule>,
}

/// A frame as snapshots have it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceFrame {
    /// Demangled; the address as `0x…` where there is no name.
    pub function: String,
    /// Source file, else the module; `??` if neither is known.
    pub file: String,
    /// From 1; 0 if unknown.
    pub line: u32,
}

impl SourceFrame {
    /// Of an address of which nothing else is known.
    #[must_use]
    pub fn nameless(address: u64) -> Self {
        Self {
            function: format!("{address:#x}"),
            file: "??".to_owned(),
            line: 0,
        }
    }
}

/// Gives frames their names.
pub trait Symbols {
    /// The frames of a stack, innermost first: inlined functions are frames of their own.
    fn frames(&mut self, stack: &[CodeAddress<'_>]) -> Vec<SourceFrame>;

    /// What could not be named so far, and what would help: a line each, for whoever reads the snapshot.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Names no address: frames are addresses, for programs without a file to look into.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses;

impl Symbols for Addresses {
    fn frames(&mut self, stack: &[CodeAddress<'_>]) -> Vec<SourceFrame> {
        let addresses = stack.iter().map(|code| code.address);
        addresses.map(SourceFrame::nameless).collect()
    }
}
