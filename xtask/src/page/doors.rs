//! Closes the doors of a part: what lies behind them is then no part, but where it is called.
//!
//! One compiled module becomes two pages so. In both, a door is a call of an imported function (`crates/vramscope-app/src/parts.rs`);
//! closed, it is a call of the exported one that belongs to it.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use wasmparser::{
    ExternalKind, KnownCustom, Linking, Parser, Payload, RelocAddendKind, RelocationEntry,
    RelocationType, SymbolInfo, TypeRef,
};

use super::parts::leb128;

/// The section with the relocations of the code.
const RELOCATIONS: &str = "reloc.CODE";

/// A module with its relocations, in which the doors of a part are closed.
///
/// # Errors
///
/// If it has no such doors, or cannot be read.
pub(super) fn closed(module: &[u8], part: &str) -> Result<Vec<u8>> {
    let symbols = Symbols::of(module, part)?;
    ensure!(!symbols.behind.is_empty(), "no door leads to {part}");
    let mut calls = Vec::new();
    let mut relocations = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == RELOCATIONS
            && let KnownCustom::Reloc(reader) = section.as_known()
        {
            text(RELOCATIONS, &mut relocations);
            leb128(reader.section_index() as usize, &mut relocations);
            leb128(reader.entries().count() as usize, &mut relocations);
            for entry in reader.entries() {
                let mut entry = entry?;
                // Those of types have the number of a type there.
                let is_of_symbol = entry.ty != RelocationType::TypeIndexLeb;
                if let Some(&(symbol, function)) = symbols.behind.get(&entry.index)
                    && is_of_symbol
                {
                    ensure!(
                        entry.ty == RelocationType::FunctionIndexLeb,
                        "a door to {part} is more than called"
                    );
                    calls.push((entry.offset as usize, function));
                    entry.index = symbol;
                }
                push(entry, &mut relocations);
            }
        }
    }
    ensure!(!calls.is_empty(), "the module has no relocations of calls");
    let mut out = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let Payload::Version { range, .. } = &payload {
            out.extend(&module[range.clone()]);
        }
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let mut content = module[range].to_vec();
        match &payload {
            Payload::CodeSectionStart { .. } => {
                for &(offset, function) in &calls {
                    content[offset..offset + 5].copy_from_slice(&five_bytes(function));
                }
            }
            Payload::CustomSection(section) if section.name() == RELOCATIONS => {
                content = std::mem::take(&mut relocations);
            }
            _ => {}
        }
        out.push(id);
        leb128(content.len(), &mut out);
        out.extend(content);
    }
    Ok(out)
}

/// What the linker knows of a part's doors.
struct Symbols {
    /// The symbol of an imported function → symbol and number of the exported one.
    behind: HashMap<u32, (u32, u32)>,
}

impl Symbols {
    fn of(module: &[u8], part: &str) -> Result<Self> {
        let name = |side: &str| format!("__wasm_split_00{part}00_{side}_");
        let (import, export) = (name("import"), name("export"));
        let (mut functions, mut imported, mut exported) = (0, HashMap::new(), HashMap::new());
        let mut symbol_of = HashMap::new();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for item in imports.into_imports() {
                        let item = item?;
                        if matches!(item.ty, TypeRef::Func(_)) {
                            if let Some(door) = item.name.strip_prefix(&import) {
                                imported.insert(door.to_owned(), functions);
                            }
                            functions += 1;
                        }
                    }
                }
                Payload::ExportSection(exports) => {
                    for item in exports {
                        let item = item?;
                        let door = item.name.strip_prefix(&export);
                        if let (Some(door), ExternalKind::Func) = (door, item.kind) {
                            exported.insert(door.to_owned(), item.index);
                        }
                    }
                }
                Payload::CustomSection(section) => {
                    if let KnownCustom::Linking(linking) = section.as_known() {
                        for subsection in linking.subsections() {
                            if let Linking::SymbolTable(table) = subsection? {
                                for (symbol, info) in (0..).zip(table) {
                                    if let SymbolInfo::Func { index, .. } = info? {
                                        symbol_of.insert(index, symbol);
                                    }
                                }
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        let pair = |(door, from): (String, u32)| {
            let to = *exported.get(&door)?;
            Some((*symbol_of.get(&from)?, (*symbol_of.get(&to)?, to)))
        };
        Ok(Self {
            behind: imported.into_iter().filter_map(pair).collect(),
        })
    }
}

fn text(text: &str, out: &mut Vec<u8>) {
    leb128(text.len(), out);
    out.extend(text.as_bytes());
}

fn push(entry: RelocationEntry, out: &mut Vec<u8>) {
    out.push(entry.ty as u8);
    leb128(entry.offset as usize, out);
    leb128(entry.index as usize, out);
    if entry.ty.addend_kind() != RelocAddendKind::None {
        signed(entry.addend, out);
    }
}

fn signed(mut number: i64, out: &mut Vec<u8>) {
    loop {
        let (byte, rest) = ((number & 0x7f) as u8, number >> 7);
        let is_last = rest == 0 && byte & 0x40 == 0 || rest == -1 && byte & 0x40 != 0;
        if is_last {
            return out.push(byte);
        }
        out.push(byte | 0x80);
        number = rest;
    }
}

/// A number as relocations have it.
fn five_bytes(number: u32) -> [u8; 5] {
    let byte = |place: u32| (number >> (7 * place)) as u8 & 0x7f;
    [0, 1, 2, 3, 4].map(|place| byte(place) | if place < 4 { 0x80 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::{five_bytes, signed};

    #[test]
    fn numbers_are_written_as_relocations_have_them() {
        assert_eq!(five_bytes(0), [0x80, 0x80, 0x80, 0x80, 0]);
        assert_eq!(five_bytes(300), [0xac, 0x82, 0x80, 0x80, 0]);
        let written = |number| {
            let mut out = Vec::new();
            signed(number, &mut out);
            out
        };
        assert_eq!(written(-1), [0x7f]);
        assert_eq!(written(63), [0x3f]);
        assert_eq!(written(64), [0xc0, 0]);
        assert_eq!(written(-129), [0xff, 0x7e]);
    }
}
