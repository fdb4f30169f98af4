//! Graphs. Nodes are only counted, except that allocation and free nodes allocate and free memory. A node takes its
//! memory when it is created (the real driver waits until the launch), and the memory stays with the graph.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::driver::{Driver, Graph, HostCall, Owner};
use crate::entry::{Answer, Handle, handle, number, read_in, result, with_driver, write_out};

driver! {
    fn cuGraphCreate(graph: *mut Handle, _flags: c_uint) |driver| {
        let (_, context) = driver.current()?;
        let device = context.device;
        let created = driver.new_handle();
        let new = Graph { device, is_alive: true, ..Graph::default() };
        driver.graphs.insert(created, new);
        write_out(graph, handle(created))
    }

    fn cuGraphDestroy(graph: Handle) |driver| {
        living_graph(driver, graph)?.is_alive = false;
        driver.end_graph(number(graph));
        Ok(())
    }

    fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _flags: c_ulonglong) |driver| {
        instantiate(driver, executable, graph)
    }

    fn cuGraphInstantiateWithParams(executable: *mut Handle, graph: Handle, _params: *mut c_void) |driver| {
        instantiate(driver, executable, graph)
    }

    fn cuGraphInstantiate_v2(executable: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_char, _room: usize) |driver| {
        instantiate(driver, executable, graph)
    }

    fn cuGraphExecDestroy(executable: Handle) |driver| {
        let graph = driver.executables.remove(&number(executable)).ok_or(result::INVALID_VALUE)?;
        driver.end_graph(graph);
        Ok(())
    }

    /// Only the host functions of the graph run.
    fn cuGraphLaunch, cuGraphLaunch_ptsz(executable: Handle, stream: Handle) {
        let mut calls = Vec::new();
        let look = |driver: &mut Driver| {
            driver.context_of_stream(number(stream))?;
            let graph = driver.executables.get(&number(executable)).ok_or(result::INVALID_VALUE)?;
            calls = driver.graphs.get(graph).map_or_else(Vec::new, |graph| graph.host_calls.clone());
            Ok(())
        };
        match with_driver("cuGraphLaunch", look) {
            result::SUCCESS => {}
            error => return Err(error),
        }
        calls.into_iter().for_each(HostCall::run);
        Ok(())
    }

    fn cuGraphUpload, cuGraphUpload_ptsz(executable: Handle, _stream: Handle) |driver| {
        driver.executables.get(&number(executable)).ok_or(result::INVALID_VALUE).map(|_| ())
    }

    fn cuGraphAddMemAllocNode(node: *mut Handle, graph: Handle, _before: *const Handle, _count: usize, parameters: *mut Allocation) |driver| {
        add_allocation(driver, node, graph, parameters)
    }

    fn cuGraphAddMemFreeNode(node: *mut Handle, graph: Handle, _before: *const Handle, _count: usize, address: u64) |driver| {
        add_free(driver, node, graph, address)
    }

    fn cuGraphAddNode(
        node: *mut Handle, graph: Handle, _before: *const Handle, _count: usize, parameters: *mut NodeParameters,
    ) |driver| {
        add_node(driver, node, graph, parameters)
    }

    fn cuGraphAddNode_v2, cuGraphAddNode_v3(
        node: *mut Handle, graph: Handle, _before: *const Handle, _edges: *const c_void, _count: usize,
        parameters: *mut NodeParameters,
    ) |driver| {
        add_node(driver, node, graph, parameters)
    }

    fn cuDeviceGraphMemTrim(device: c_int) |driver| {
        let (index, _) = driver.device(device)?;
        driver.trim_graphs(index);
        Ok(())
    }

    fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_uint, value: *mut u64) |driver| {
        let (index, device) = driver.device(device)?;
        let left: u64 = device.left_by_graphs.iter().map(|(_, bytes)| bytes).sum();
        let heaps = driver.graphs.values().filter(|graph| graph.device == index).map(|graph| &graph.heap);
        match attribute {
            0 | 1 => write_out(value, heaps.map(|heap| heap.used).sum()),
            2 | 3 => write_out(value, left + heaps.map(|heap| heap.reserved).sum::<u64>()),
            _ => Err(result::INVALID_VALUE),
        }
    }

    fn cuGraphGetNodes(graph: Handle, _nodes: *mut Handle, count: *mut usize) |driver| {
        living_graph(driver, graph)?;
        write_out(count, 0)
    }
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Allocation {
    pool_properties: [u64; 11],
    access: u64,
    access_count: usize,
    bytes: usize,
    address: u64,
}

/// The start of `CUgraphNodeParams`; the parameters of the node's kind follow.
#[derive(Clone, Copy)]
#[repr(C)]
struct NodeParameters {
    kind: c_int,
    reserved: [c_int; 3],
}

fn add_node(
    driver: &mut Driver,
    node: *mut Handle,
    graph: Handle,
    parameters: *mut NodeParameters,
) -> Answer {
    let of_kind = parameters.wrapping_add(1);
    match read_in(parameters)?.kind {
        10 => add_allocation(driver, node, graph, of_kind.cast()),
        11 => add_free(driver, node, graph, read_in(of_kind.cast())?),
        _ => Err(result::NOT_SUPPORTED),
    }
}

fn add_allocation(
    driver: &mut Driver,
    node: *mut Handle,
    graph: Handle,
    parameters: *mut Allocation,
) -> Answer {
    let request = read_in(parameters)?;
    let device = living_graph(driver, graph)?.device;
    if request.bytes == 0 {
        return Err(result::INVALID_VALUE);
    }
    let owner = Owner::Graph(number(graph));
    let address = driver.allocate(owner, device, 0, 0, request.bytes as u64)?;
    write_out(parameters, Allocation { address, ..request })?;
    let created = driver.new_handle();
    write_out(node, handle(created))
}

fn add_free(driver: &mut Driver, node: *mut Handle, graph: Handle, address: u64) -> Answer {
    let owner = Owner::Graph(number(graph));
    if driver.blocks.get(&address).map(|block| block.owner) != Some(owner) {
        return Err(result::INVALID_VALUE);
    }
    driver.free(address, 0)?;
    let created = driver.new_handle();
    write_out(node, handle(created))
}

/// Finds a graph that was not destroyed.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE`.
fn living_graph(driver: &mut Driver, graph: Handle) -> Answer<&mut Graph> {
    let graph = driver.graphs.get_mut(&number(graph));
    graph
        .filter(|graph| graph.is_alive)
        .ok_or(result::INVALID_VALUE)
}

fn instantiate(driver: &mut Driver, place: *mut Handle, graph: Handle) -> Answer {
    living_graph(driver, graph)?;
    let executable = driver.new_handle();
    driver.executables.insert(executable, number(graph));
    write_out(place, handle(executable))
}
