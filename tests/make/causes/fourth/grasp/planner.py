import torch
from torch import nn


class GraspNet(nn.Module):
    """Scores candidate grasps of a scene's points."""

    def __init__(self, d=192):
        super().__init__()
        self.points = nn.Sequential(nn.Linear(3, d), nn.ReLU(), nn.Linear(d, d))
        self.grasp = nn.Linear(7, d)
        self.score = nn.Sequential(nn.Linear(2 * d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, cloud, grasps):
        scene = self.points(cloud).amax(0)
        g = self.grasp(grasps)
        return self.score(torch.cat([g, scene.expand_as(g)], -1)).squeeze(-1)


class Planner:
    def __init__(self, net):
        self.net, self.plans = net, {}

    @torch.no_grad()
    def record(self, n):
        cloud, grasps = torch.zeros(20_000, 3, device="cuda"), torch.zeros(n, 7, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.net(cloud, grasps)
        torch.cuda.current_stream().wait_stream(side)
        plan = torch.cuda.CUDAGraph()
        with torch.cuda.graph(plan):
            scores = self.net(cloud, grasps)
        self.plans[n] = plan, cloud, grasps, scores
        return self.plans[n]

    def best(self, cloud, grasps):
        n = -(-len(grasps) // 512) * 512
        plan, *inputs, scores = self.plans.get(n) or self.record(n)
        inputs[0].copy_(cloud)
        inputs[1][: len(grasps)].copy_(grasps)
        plan.replay()
        return scores[: len(grasps)].cpu().argmax()
