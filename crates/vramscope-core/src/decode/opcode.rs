//! Pickle's opcodes, named as in CPython's `Lib/pickle.py`.

macro_rules! opcodes {
    ($($name:ident $code:literal)*) => {
        $(pub(crate) const $name: u8 = $code;)*
    };
}

opcodes! {
    PROTO 0x80
    FRAME 0x95
    STOP b'.'
    MARK b'('
    POP b'0'
    POP_MARK b'1'
    DUP b'2'

    NONE b'N'
    NEWTRUE 0x88
    NEWFALSE 0x89
    INT b'I'
    LONG b'L'
    BININT b'J'
    BININT1 b'K'
    BININT2 b'M'
    LONG1 0x8a
    LONG4 0x8b
    FLOAT b'F'
    BINFLOAT b'G'

    STRING b'S'
    BINSTRING b'T'
    SHORT_BINSTRING b'U'
    BINBYTES b'B'
    SHORT_BINBYTES b'C'
    BINBYTES8 0x8e
    BYTEARRAY8 0x96
    UNICODE b'V'
    BINUNICODE b'X'
    SHORT_BINUNICODE 0x8c
    BINUNICODE8 0x8d

    EMPTY_LIST b']'
    LIST b'l'
    APPEND b'a'
    APPENDS b'e'
    EMPTY_TUPLE b')'
    TUPLE b't'
    TUPLE1 0x85
    TUPLE2 0x86
    TUPLE3 0x87
    EMPTY_DICT b'}'
    DICT b'd'
    SETITEM b's'
    SETITEMS b'u'

    MEMOIZE 0x94
    PUT b'p'
    BINPUT b'q'
    LONG_BINPUT b'r'
    GET b'g'
    BINGET b'h'
    LONG_BINGET b'j'
}

/// Opcodes that import, build or call objects, or make values that snapshots do not contain.
const FORBIDDEN: [(u8, &str); 18] = [
    (b'c', "GLOBAL"),
    (0x93, "STACK_GLOBAL"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (b'R', "REDUCE"),
    (b'b', "BUILD"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
    (0x8f, "EMPTY_SET"),
    (0x90, "ADDITEMS"),
    (0x91, "FROZENSET"),
];

/// The name of an opcode that is refused; `None` for a byte that is not an opcode.
pub(super) fn forbidden_name(opcode: u8) -> Option<&'static str> {
    let mut names = FORBIDDEN.iter();
    names.find_map(|&(code, name)| (code == opcode).then_some(name))
}
