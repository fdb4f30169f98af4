//! Graph nodes that allocate and free memory.

use std::ffi::c_int;

use vramscope_record::layout::{Call, Event, OUT_OF_MEMORY, SUCCESS, flags};

use super::entry::field_u64;
use super::{CUresult, Handle, devices, entry, events};

/// The address in a `CUDA_MEM_ALLOC_NODE_PARAMS`; 0 if the node was not created.
pub(super) fn address(parameters: *const u64, node: u64) -> u64 {
    if node == 0 {
        0
    } else {
        field_u64(parameters, 14)
    }
}

/// The requested size in a `CUDA_MEM_ALLOC_NODE_PARAMS`.
pub(super) fn bytes(parameters: *const u64) -> u64 {
    field_u64(parameters, 13)
}

/// The device in a `CUDA_MEM_ALLOC_NODE_PARAMS`, which begins with pool properties.
pub(super) fn device(parameters: *const u64) -> i16 {
    devices::device_of_properties(parameters.cast::<c_int>())
}

/// `CU_GRAPH_NODE_TYPE_MEM_ALLOC`
const MEM_ALLOC: u32 = 10;
/// `CU_GRAPH_NODE_TYPE_MEM_FREE`
const MEM_FREE: u32 = 11;

/// Runs around `cuGraphAddNode`. `node` is a `CUgraphNodeParams`: 16 bytes with the type, then the parameters.
pub(super) fn around_add_node(graph: Handle, node: *const u64) -> impl FnOnce(CUresult) {
    let kind = field_u64(node, 0) as u32;
    let parameters = node.wrapping_add(2);
    let event = move |call, address| Event {
        address,
        pool: graph as u64,
        ..entry::blank(call)
    };
    if kind == MEM_FREE {
        events::write_free(event(Call::cuGraphAddMemFreeNode, field_u64(parameters, 0)));
    }
    move |result| match (kind, result) {
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
                SUCCESS => events::write_creation(event),
                _ => events::write_out_of_memory(event),
            }
        }
        (MEM_FREE, 1..) => {
            let event = Event {
                result,
                flags: flags::FREE_FAILED,
                ..event(Call::cuGraphAddMemFreeNode, field_u64(parameters, 0))
            };
            events::write(event, false);
        }
        _ => {}
    }
}
