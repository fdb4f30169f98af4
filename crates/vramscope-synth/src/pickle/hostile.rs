//! Streams made to break a decoder: memo bombs, objects to be called, wrong lengths.
//!
//! Each must give an error, or may decode if [`Hostile::harmless`] says so, in little time
//! and memory. The list feeds the decoder's tests and the fuzz corpus.

use super::op;
use super::raw::Raw;

/// A stream, and a name for what is wrong with it.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// A short name, usable as a file name.
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Whether the stream is unusual but valid: a decoder may accept it.
    pub harmless: bool,
}

fn bad(name: &'static str, bytes: Vec<u8>) -> Hostile {
    Hostile {
        name,
        bytes,
        harmless: false,
    }
}

fn odd(name: &'static str, bytes: Vec<u8>) -> Hostile {
    Hostile {
        name,
        bytes,
        harmless: true,
    }
}

/// Every stream of this module.
#[must_use]
pub fn all() -> Vec<Hostile> {
    let mut list = objects();
    list.extend(stack_faults());
    list.extend(text_and_number_lengths());
    list.extend(memo_and_frame_lengths());
    list.extend(sharing());
    list.extend(wrong_values());
    list.extend(wrong_operands());
    list
}

/// Opcodes that import, build or call objects.
fn objects() -> Vec<Hostile> {
    let global = || Raw::proto(2).op(op::GLOBAL).bytes(b"os\nsystem\n");
    let call = || global().op(op::MARK).text("true").op(op::TUPLE);
    vec![
        bad("global", global().stop()),
        bad("global_reduce", call().op(op::REDUCE).stop()),
        bad("newobj", call().op(op::NEWOBJ).stop()),
        bad(
            "build",
            call()
                .op(op::REDUCE)
                .op(op::EMPTY_DICT)
                .op(op::BUILD)
                .stop(),
        ),
        bad(
            "stack_global_reduce",
            Raw::proto(4)
                .text("builtins")
                .text("eval")
                .op(op::STACK_GLOBAL)
                .text("1")
                .op(op::TUPLE1)
                .op(op::REDUCE)
                .stop(),
        ),
        bad(
            "inst",
            Raw::new()
                .op(op::MARK)
                .op(op::INST)
                .bytes(b"os\nsystem\n")
                .stop(),
        ),
        bad(
            "obj",
            Raw::proto(2).op(op::MARK).text("x").op(op::OBJ).stop(),
        ),
        bad("ext1", Raw::proto(2).op(op::EXT1).bytes(&[1]).stop()),
        bad(
            "persid",
            Raw::new().op(op::PERSID).bytes(b"storage\n").stop(),
        ),
        bad(
            "binpersid",
            Raw::proto(2).text("storage").op(op::BINPERSID).stop(),
        ),
        bad(
            "next_buffer",
            Raw::proto(5)
                .op(op::NEXT_BUFFER)
                .op(op::READONLY_BUFFER)
                .stop(),
        ),
        bad("empty_set", Raw::proto(4).op(op::EMPTY_SET).stop()),
        bad("global_in_trace", in_trace(global()).stop()),
    ]
}

/// A snapshot up to the point where `inner` is pushed as the first trace entry, then closed.
fn in_trace(inner: Raw) -> Raw {
    // `inner` opens with PROTO; a second PROTO in the middle is legal, so it stays.
    Raw::proto(4)
        .op(op::EMPTY_DICT)
        .op(op::MARK)
        .text("segments")
        .op(op::EMPTY_LIST)
        .text("device_traces")
        .op(op::EMPTY_LIST)
        .op(op::EMPTY_LIST)
        .bytes(&inner.cut())
        .op(op::APPEND)
        .op(op::APPEND)
        .op(op::SETITEMS)
}

/// Underflows, missing marks, unknown memo entries, unknown opcodes.
fn stack_faults() -> Vec<Hostile> {
    let unopened = [
        ("append_underflow", op::APPEND),
        ("appends_no_mark", op::APPENDS),
        ("setitem_underflow", op::SETITEM),
        ("setitems_no_mark", op::SETITEMS),
        ("tuple_no_mark", op::TUPLE),
        ("tuple2_underflow", op::TUPLE2),
        ("dup_underflow", op::DUP),
        ("pop_underflow", op::POP),
        ("pop_mark_no_mark", op::POP_MARK),
        ("memoize_underflow", op::MEMOIZE),
        ("list_no_mark", op::LIST),
        ("dict_no_mark", op::DICT),
    ];
    let mut list: Vec<Hostile> = unopened
        .map(|(name, opcode)| bad(name, Raw::proto(4).op(opcode).stop()))
        .into();
    list.extend([
        bad("empty", Vec::new()),
        bad("stop_only", Raw::new().stop()),
        bad("stop_on_mark", Raw::proto(4).op(op::MARK).stop()),
        bad("proto_only", Raw::proto(4).cut()),
        bad("no_stop", Raw::proto(4).op(op::EMPTY_DICT).cut()),
        bad("binget_unknown", Raw::proto(2).binget(7).stop()),
        bad(
            "long_binget_unknown",
            Raw::proto(2).op_u32(op::LONG_BINGET, u32::MAX).stop(),
        ),
        bad(
            "get_not_a_number",
            Raw::new().op(op::GET).bytes(b"x\n").stop(),
        ),
        bad("unknown_opcode", Raw::proto(4).op(0xff).stop()),
        bad("proto_9", Raw::proto(9).op(op::EMPTY_DICT).stop()),
        bad(
            "memoize_a_mark",
            Raw::proto(4).op(op::MARK).op(op::MEMOIZE).stop(),
        ),
        bad("append_below_mark", {
            Raw::proto(4)
                .op(op::EMPTY_LIST)
                .op(op::MARK)
                .op(op::APPEND)
                .stop()
        }),
        bad("int_garbage", Raw::new().op(op::INT).bytes(b"12x\n").stop()),
        bad(
            "int_without_newline",
            Raw::new().op(op::INT).bytes(&[b'1'; 4096]).cut(),
        ),
        odd("trailing_nuls", {
            let mut bytes = empty_snapshot();
            bytes.extend([0, 0]);
            bytes
        }),
        odd("empty_snapshot", empty_snapshot()),
    ]);
    list
}

fn empty_snapshot() -> Vec<u8> {
    Raw::proto(4)
        .op(op::EMPTY_DICT)
        .op(op::MARK)
        .text("segments")
        .op(op::EMPTY_LIST)
        .text("device_traces")
        .op(op::EMPTY_LIST)
        .op(op::SETITEMS)
        .stop()
}

/// Lengths of texts, bytes and numbers beyond the end of the stream.
fn text_and_number_lengths() -> Vec<Hostile> {
    vec![
        bad(
            "binunicode_4gib",
            Raw::proto(2)
                .op_u32(op::BINUNICODE, u32::MAX)
                .bytes(b"abc")
                .cut(),
        ),
        bad("binunicode8_huge", {
            Raw::proto(4)
                .op_u64(op::BINUNICODE8, u64::MAX)
                .bytes(b"abc")
                .cut()
        }),
        bad(
            "binbytes8_huge",
            Raw::proto(4).op_u64(op::BINBYTES8, 1 << 60).cut(),
        ),
        bad(
            "bytearray8_huge",
            Raw::proto(5).op_u64(op::BYTEARRAY8, 1 << 62).cut(),
        ),
        bad(
            "long4_huge",
            Raw::proto(2)
                .op_u32(op::LONG4, 0x7fff_ffff)
                .bytes(&[1])
                .cut(),
        ),
        bad(
            "long4_negative",
            Raw::proto(2)
                .op_u32(op::LONG4, 0xffff_fff0)
                .bytes(&[1])
                .stop(),
        ),
        bad(
            "long1_cut",
            Raw::proto(2).op(op::LONG1).bytes(&[200, 1, 2]).cut(),
        ),
        bad(
            "short_binunicode_cut",
            Raw::proto(4)
                .op(op::SHORT_BINUNICODE)
                .bytes(b"\xffab")
                .cut(),
        ),
    ]
}

/// Memo numbers that would need too much memory, frames of wrong lengths, and an integer of 255 bytes.
fn memo_and_frame_lengths() -> Vec<Hostile> {
    vec![
        bad("long_binput_huge", {
            Raw::proto(2)
                .op(op::EMPTY_DICT)
                .op_u32(op::LONG_BINPUT, u32::MAX - 1)
                .stop()
        }),
        bad(
            "put_huge",
            Raw::new()
                .text("x")
                .op(op::PUT)
                .bytes(b"99999999999999999999\n")
                .stop(),
        ),
        odd("frame_lies_long", {
            let mut bytes = Raw::proto(4).op_u64(op::FRAME, u64::MAX).cut();
            bytes.extend_from_slice(&empty_snapshot()[2..]);
            bytes
        }),
        odd("frame_lies_short", {
            let mut bytes = Raw::proto(4).op_u64(op::FRAME, 1).cut();
            bytes.extend_from_slice(&empty_snapshot()[2..]);
            bytes
        }),
        bad(
            "long1_address_255_bytes",
            in_segment("address", Raw::new().long1(&[0x7f; 255])).stop(),
        ),
    ]
}

/// A snapshot with one segment of one key.
fn in_segment(key: &str, value: Raw) -> Raw {
    Raw::proto(4)
        .op(op::EMPTY_DICT)
        .text("segments")
        .op(op::EMPTY_LIST)
        .op(op::EMPTY_DICT)
        .text(key)
        .bytes(&value.cut())
        .op(op::SETITEM)
        .op(op::APPEND)
        .op(op::SETITEM)
}

/// Self-reference, exponential sharing, deep nesting.
fn sharing() -> Vec<Hostile> {
    let self_list = Raw::proto(2)
        .op(op::EMPTY_LIST)
        .binput(0)
        .binget(0)
        .op(op::APPEND);
    let self_dict = Raw::proto(2)
        .op(op::EMPTY_DICT)
        .binput(0)
        .text("segments")
        .binget(0)
        .op(op::SETITEM);
    let frames_self = Raw::new()
        .op(op::EMPTY_DICT)
        .text("frames")
        .op(op::EMPTY_LIST)
        .binput(9)
        .binget(9);
    vec![
        bad("list_holds_itself", self_list.stop()),
        bad("dict_holds_itself", self_dict.stop()),
        bad("frames_hold_themselves", {
            in_trace(frames_self.op(op::APPEND).op(op::SETITEM)).stop()
        }),
        bad("memo_bomb", memo_bomb(40).stop()),
        bad("memo_bomb_in_frames", {
            let bomb = Raw::new()
                .op(op::EMPTY_DICT)
                .text("frames")
                .bytes(&memo_bomb(40).cut());
            in_trace(bomb.op(op::SETITEM)).stop()
        }),
        bad("deep_lists", {
            Raw::proto(2)
                .repeat(op::EMPTY_LIST, 100_000)
                .repeat(op::APPEND, 99_999)
                .stop()
        }),
        bad("deep_tuples", {
            Raw::proto(2)
                .op(op::EMPTY_TUPLE)
                .repeat(op::TUPLE1, 100_000)
                .stop()
        }),
        bad("deep_marks", Raw::proto(2).repeat(op::MARK, 200_000).cut()),
        bad("many_nones", Raw::proto(2).repeat(op::NONE, 200_000).stop()),
        bad(
            "dup_flood",
            Raw::proto(2)
                .op(op::EMPTY_LIST)
                .repeat(op::DUP, 200_000)
                .stop(),
        ),
    ]
}

/// `levels` lists, each holding the one before ten times: 10^levels leaves if expanded.
#[must_use]
pub fn memo_bomb(levels: u8) -> Raw {
    let mut raw = Raw::proto(2).op(op::EMPTY_LIST).binput(0);
    for level in 0..levels {
        raw = raw.op(op::POP).op(op::EMPTY_LIST).op(op::MARK);
        for _ in 0..10 {
            raw = raw.binget(level);
        }
        raw = raw.op(op::APPENDS).binput(level + 1);
    }
    raw
}

/// Well-formed pickles whose values have types other than their keys demand.
fn wrong_values() -> Vec<Hostile> {
    let top = |value: Raw| {
        Raw::proto(4)
            .op(op::EMPTY_DICT)
            .text("segments")
            .bytes(&value.cut())
    };
    vec![
        bad("top_is_int", Raw::proto(4).int1(1).stop()),
        bad("top_is_string", Raw::proto(4).text("segments").stop()),
        bad("top_is_none", Raw::proto(4).op(op::NONE).stop()),
        bad("top_without_known_keys", {
            Raw::proto(4)
                .op(op::EMPTY_DICT)
                .text("model")
                .int1(1)
                .op(op::SETITEM)
                .stop()
        }),
        bad(
            "segments_is_int",
            top(Raw::new().int1(3)).op(op::SETITEM).stop(),
        ),
        bad("segments_of_ints", {
            let ints = Raw::new().op(op::EMPTY_LIST).int1(3).op(op::APPEND);
            top(ints).op(op::SETITEM).stop()
        }),
        bad(
            "address_is_string",
            in_segment("address", Raw::new().text("0x7f")).stop(),
        ),
        bad(
            "size_is_list",
            in_segment("total_size", Raw::new().op(op::EMPTY_LIST)).stop(),
        ),
        bad(
            "blocks_is_dict",
            in_segment("blocks", Raw::new().op(op::EMPTY_DICT)).stop(),
        ),
        bad(
            "segment_without_address",
            in_segment("device", Raw::new().int1(0)).stop(),
        ),
        bad("entry_is_string", in_trace(Raw::new().text("alloc")).stop()),
        bad("action_is_int", {
            let entry = Raw::new()
                .op(op::EMPTY_DICT)
                .text("action")
                .int1(1)
                .op(op::SETITEM);
            in_trace(entry).stop()
        }),
        bad("frames_is_string", {
            let entry = Raw::new()
                .op(op::EMPTY_DICT)
                .text("frames")
                .text("x")
                .op(op::SETITEM);
            in_trace(entry).stop()
        }),
    ]
}

/// Opcodes whose operands on the stack have the wrong types.
fn wrong_operands() -> Vec<Hostile> {
    vec![
        bad(
            "append_to_int",
            Raw::proto(4).int1(1).int1(2).op(op::APPEND).stop(),
        ),
        bad("setitem_on_list", {
            Raw::proto(4)
                .op(op::EMPTY_LIST)
                .text("k")
                .int1(2)
                .op(op::SETITEM)
                .stop()
        }),
        bad("setitems_odd", {
            Raw::proto(4)
                .op(op::EMPTY_DICT)
                .op(op::MARK)
                .text("k")
                .op(op::SETITEMS)
                .stop()
        }),
        bad("dict_key_is_list", {
            let key = Raw::proto(4).op(op::EMPTY_DICT).op(op::EMPTY_LIST);
            key.int1(1).op(op::SETITEM).stop()
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_streams_small() {
        let list = all();
        let mut names: Vec<_> = list.iter().map(|h| h.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), list.len());
        assert!(list.iter().all(|h| h.bytes.len() < 512 * 1024));
    }

    #[test]
    fn the_bomb_is_small_on_disk() {
        assert!(memo_bomb(40).stop().len() < 1200);
    }
}
