//! Closes the doors of a part: what lies behind them is then no part, but where it is called.
//!
//! One compiled module becomes two pages so. In both, a door is a call of an imported function (`crates/vramscope-app/src/parts.rs`);
//! closed, it is a call of the exported one that belongs to it.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use wasm_encoder::{Encode as _, Module, RawSection};
use wasmparser::{
    KnownCustom, Linking, Parser, Payload, RelocAddendKind, RelocationEntry, RelocationType,
    SymbolInfo, TypeRef,
};

/// The section with the relocations of the code.
const RELOCATIONS: &str = "reloc.CODE";

/// A module with its relocations, in which the doors of a part are closed.
pub(super) fn closed(module: &[u8], part: &str) -> Result<Vec<u8>> {
    let behind = behind(module, part)?;
    ensure!(!behind.is_empty(), "no door leads to {part}");
    let mut calls = Vec::new();
    let mut relocations = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == RELOCATIONS
            && let KnownCustom::Reloc(reader) = section.as_known()
        {
            RELOCATIONS.encode(&mut relocations);
            reader.section_index().encode(&mut relocations);
            reader.entries().count().encode(&mut relocations);
            for entry in reader.entries() {
                let mut entry = entry?;
                // Those of types have the number of a type there.
                let is_of_symbol = entry.ty != RelocationType::TypeIndexLeb;
                if let Some(&(symbol, function)) = behind.get(&entry.index)
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
    let mut out = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let mut data = module[range].to_vec();
        match &payload {
            Payload::CodeSectionStart { .. } => {
                for &(offset, function) in &calls {
                    data[offset..offset + 5].copy_from_slice(&five_bytes(function));
                }
            }
            Payload::CustomSection(section) if section.name() == RELOCATIONS => {
                data = std::mem::take(&mut relocations);
            }
            _ => {}
        }
        out.section(&RawSection { id, data: &data });
    }
    Ok(out.finish())
}

/// What the linker knows of a part's doors: the symbol of an imported function → symbol and number of the exported one.
fn behind(module: &[u8], part: &str) -> Result<HashMap<u32, (u32, u32)>> {
    let name = |side: &str| format!("__wasm_split_00{part}00_{side}_");
    let (import, export) = (name("import"), name("export"));
    let (mut imports, mut imported, mut exported) = (Vec::new(), Vec::new(), HashMap::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for item in section.into_imports() {
                    let item = item?;
                    if matches!(item.ty, TypeRef::Func(_)) {
                        imports.push(item.name);
                    }
                }
            }
            Payload::CustomSection(section) => {
                let KnownCustom::Linking(linking) = section.as_known() else {
                    continue;
                };
                for subsection in linking.subsections() {
                    let Linking::SymbolTable(table) = subsection? else {
                        continue;
                    };
                    for (symbol, info) in (0..).zip(table) {
                        let SymbolInfo::Func { index, name, .. } = info? else {
                            continue;
                        };
                        // An import has its name in the section of imports.
                        let imported_as = imports.get(index as usize).copied();
                        let name = imported_as.or(name).unwrap_or_default();
                        imported.extend(name.strip_prefix(&import).map(|door| (door, symbol)));
                        exported.extend(
                            name.strip_prefix(&export)
                                .map(|door| (door, (symbol, index))),
                        );
                    }
                }
            }
            _ => {}
        }
    }
    let pair = |(door, from)| Some((from, *exported.get(door)?));
    Ok(imported.into_iter().filter_map(pair).collect())
}

fn push(entry: RelocationEntry, out: &mut Vec<u8>) {
    out.push(entry.ty as u8);
    entry.offset.encode(out);
    entry.index.encode(out);
    if entry.ty.addend_kind() != RelocAddendKind::None {
        entry.addend.encode(out);
    }
}

/// A number as relocations have it.
fn five_bytes(number: u32) -> [u8; 5] {
    let byte = |place: u32| (number >> (7 * place)) as u8 & 0x7f;
    [0, 1, 2, 3, 4].map(|place| byte(place) | if place < 4 { 0x80 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::five_bytes;

    #[test]
    fn numbers_are_written_as_relocations_have_them() {
        assert_eq!(five_bytes(0), [0x80, 0x80, 0x80, 0x80, 0]);
        assert_eq!(five_bytes(300), [0xac, 0x82, 0x80, 0x80, 0]);
    }
}
