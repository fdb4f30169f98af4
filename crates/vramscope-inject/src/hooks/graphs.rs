//! Nodes of graphs that allocate and free.

use std::ffi::c_int;

use vramscope_record::layout::{Call, Event, OUT_OF_MEMORY, SUCCESS, flags};

use super::entry::of_structure;
use super::{CUresult, Handle, devices, entry, events};
use crate::log;

/// The address that `CUDA_MEM_ALLOC_NODE_PARAMS` was given, if the node was made.
pub(super) fn address(wish: *const u64, node: u64) -> u64 {
    if node == 0 { 0 } else { of_structure(wish, 14) }
}

/// The bytes that `CUDA_MEM_ALLOC_NODE_PARAMS` asks for.
pub(super) fn bytes(wish: *const u64) -> u64 {
    of_structure(wish, 13)
}

/// The device that `CUDA_MEM_ALLOC_NODE_PARAMS` asks for: it begins with the properties of a pool.
pub(super) fn device(wish: *const u64) -> i16 {
    devices::of_properties(wish.cast::<c_int>())
}

/// `CU_GRAPH_NODE_TYPE_MEM_ALLOC`
const MEM_ALLOC: u32 = 10;
/// `CU_GRAPH_NODE_TYPE_MEM_FREE`
const MEM_FREE: u32 = 11;

/// Around `cuGraphAddNode`, whose `node` is a `CUgraphNodeParams`: sixteen bytes with the type, then its parameters.
pub(super) fn added(graph: Handle, node: *const u64) -> impl FnOnce(CUresult) {
    let kind = of_structure(node, 0) as u32;
    let parameters = node.wrapping_add(2);
    let event = move |call, address| Event {
        address,
        pool: graph as u64,
        ..entry::blank(call)
    };
    if kind == MEM_FREE && log::is_recording() {
        events::freed(event(
            Call::cuGraphAddMemFreeNode,
            of_structure(parameters, 0),
        ));
    }
    move |result| {
        if !log::is_recording() {
            return;
        }
        match (kind, result) {
            (MEM_ALLOC, SUCCESS | OUT_OF_MEMORY) => {
                let event = Event {
                    size_bytes: bytes(parameters),
                    device: device(parameters),
                    ..event(
                        Call::cuGraphAddMemAllocNode,
                        address(parameters, u64::from(result == SUCCESS)),
                    )
                };
                match result {
                    SUCCESS => events::made(event),
                    _ => events::out_of_memory(event),
                }
            }
            (MEM_FREE, 1..) => {
                let event = Event {
                    result,
                    flags: flags::FREE_FAILED,
                    ..event(Call::cuGraphAddMemFreeNode, of_structure(parameters, 0))
                };
                events::write(event, false);
            }
            _ => {}
        }
    }
}
