"""What parameter files can name."""

from __future__ import annotations

from . import _core


def components() -> list[_core.Component]:
    """All components, by role and name.

    >>> [component.name for component in components() if component.role == "Registration"]
    ['MultiMetricMultiResolutionRegistration', 'MultiResolutionRegistration', 'MultiResolutionRegistrationWithFeatures']
    """
    return _core.components()


def describe(name: str) -> _core.Component:
    """The component of a name or alias; `str` of it is what `tessera --describe` prints. Raises UsageError.

    >>> [parameter.name for parameter in describe("TranslationTransform").parameters][:1]
    ['AutomaticTransformInitialization']
    """
    _core.require_component(name)
    return next(one for one in _core.components() if name == one.name or name in one.aliases)
